"""Which part of the window is the incident, which its healthy past, and when the one became the other."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.diagnosis import Onset
from whystall.model.engine_state import EngineState
from whystall.model.slo import Slo

from .bounds import bounds
from .pace import Pace, decode_s, late_by_pace
from .silence import Silence, died, longest_silence
from .smoothing import joined, runs
from .symptoms import paced_itl, symptoms
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A total stop hurts every request at once, refusals hurt for good; a wait is shared by those who come.
_WEIGHTS = {
    "stall": 5.0,
    "refusals": 2.0,
    "queue": 2.0,
    "itl": 1.0,
    "front": 1.0,
    "host_gap": 0.5,
    "throttle": 1.0,
    "client": 1.0,
    "contrast": 0.5,
    "away": 2.0,
}
# What a load that comes in waves makes by itself, and what goes when it does.
_OF_LOAD = frozenset({"queue", "itl", "ttft", "e2e"})
_OF_THOSE_WHO_COME = frozenset({"queue", "ttft"})
_NEXT_S = 10.0  # of pages beside a time without any
_WEIGHTS |= {"ttft": 1.0, "e2e": 1.0}  # promises broken otherwise


class Focus(msgspec.Struct, frozen=True):
    """``inside`` the incident (the whole window when nothing hurts), ``before`` its healthy past (empty when too short).

    ``onset`` is None when it was there from the start or nothing hurts; ``kinds`` maps each kind of loss to its share of
    the incident, ``times`` to that of its time. ``passing``: the kinds that were seen where nothing hurts, for losses too
    short to count.
    ``lost``: the flagged intervals of every episode, not of the worst one alone; ``broken``: those of them with a loss that
    no load makes by itself. ``after``: calm intervals after the incident, none where they are too short or nothing hurts.
    """

    inside: Bools
    before: Bools
    hurts: bool
    onset: Onset | None
    kinds: dict[str, float]
    lost: Bools
    broken: Bools
    passing: frozenset[str] = frozenset()
    times: dict[str, float] = {}
    after: Bools = np.zeros(0, dtype=bool)


def focus(state: EngineState, slo: Slo | None = None, paced: Pace | None = None) -> Focus:
    """The worst episode of the window. Episodes are flagged intervals joined over short gaps.

    ``paced``: since when steps are slower than their batch explains.
    """
    flags = {kind: flag & (state.valid | (kind == "away")) for kind, flag in symptoms(state, slo, paced).items()}
    episodes = _episodes(state, flags, slo, paced)
    best = _hang(state, flags["stall"]) or max(_of_now(episodes, flags), key=lambda e: e[2], default=None)
    m = len(state.dt)
    if m and (beyond := _beyond(state, best is not None)) is not None:
        return _unanswered(state, beyond, flags)
    if best is None:
        passing = frozenset(kind for kind, flag in flags.items() if flag.any())
        none = np.zeros(m, dtype=bool)
        return Focus(np.ones(m, dtype=bool), none, False, None, {}, none, none, passing)
    start, stop, _ = best
    inside = _around_gap(state, start, stop)
    before = _past(state, start, flags)
    times = {kind: float(state.dt[flag & inside].sum() / state.dt[inside].sum()) for kind, flag in flags.items()}
    # Who comes during a standstill waits for its end, in whatever queue that leaves.
    kinds = times if times["stall"] else {kind: share_of(state, kind, flag, inside) for kind, flag in flags.items()}
    onset = _onset(state, start) if before.any() else None
    within = np.zeros(m, dtype=bool)
    for first, last, _ in (best, *episodes):
        within[first:last] = True
    broken = np.logical_or.reduce([flag for kind, flag in flags.items() if kind not in _OF_LOAD])
    lost = np.logical_or.reduce(list(flags.values()))
    after = _calm(state, flags, slice(stop, m))
    return Focus(inside, before, True, onset, kinds, within & lost, within & broken, times=times, after=after)


def share_of(state: EngineState, kind: str, flag: Bools, inside: Bools) -> float:
    """Share of the incident that has a kind of loss: of its time, or of those who come, where a crowd of them bears it.

    A crowd that comes at once waits for a second or two, and most requests are in it.
    """
    share = float(state.dt[flag & inside].sum() / state.dt[inside].sum())
    came = np.nan_to_num(state.ttft.count) * inside
    if kind not in _OF_THOSE_WHO_COME or came[flag].sum() < level("front_requests"):  # fewer are no crowd
        return share
    of_them = float(came[flag].sum() / came.sum())
    chance = 2 * float(np.sqrt(of_them * (1 - of_them) / came.sum()))  # what few requests leave open of it (95%)
    # Where they come evenly the clock tells the same, and with less chance in it.
    return of_them - chance if of_them - chance > level("slow_factor") * share else share


def _around_gap(state: EngineState, start: int, stop: int) -> Bools:
    """The episode's intervals; where none of them can be used, as while a server was away, with one on either side."""
    inside = np.zeros(len(state.dt), dtype=bool)
    if not state.valid[start:stop].any():
        start, stop = max(start - 1, 0), stop + 1
    inside[start:stop] = True
    return inside


def _beyond(state: EngineState, other: bool) -> Silence | None:
    """A silence at either end of the pages that is the incident; with another loss only one as long as a hang.

    An engine that says that it died is the incident even where nobody asked it again.
    """
    if died(state):
        return Silence("end", state.seconds, state.seconds + state.unanswered_after_s)
    away = longest_silence(state)
    if away is None or away.where == "gap":
        return None
    if away.where == "end":
        return away if not other or away.seconds >= level("hang_min") else None
    return away if not other and away.seconds >= state.seconds else None


def _unanswered(state: EngineState, away: Silence, flags: dict[str, Bools]) -> Focus:
    """The incident lies outside the pages: the seconds next to it stand for it."""
    near = state.t_end > state.seconds - _NEXT_S if away.where == "end" else state.t_start < _NEXT_S
    before = _past(state, int(near.argmax()), flags)
    at_end = Onset(state.seconds, float(state.t_start[-1]), state.seconds)
    return Focus(near, before, True, at_end if away.where == "end" else None, {"away": 1.0}, near, near)


def _hang(state: EngineState, stall: Bools) -> tuple[int, int, float] | None:
    """A standstill that lasts to the window's end is the incident, whatever hurt before it."""
    last = runs(stall)[-1:]
    if not last or last[0][1] < len(stall) or state.dt[last[0][0] :].sum() < level("hang_min"):
        return None
    return last[0][0], last[0][1], float(state.dt[last[0][0] :].sum())


def _episodes(
    state: EngineState, flags: dict[str, Bools], slo: Slo | None, paced: Pace | None
) -> list[tuple[int, int, float]]:
    """(first, last + 1, weight) of each episode that is long enough.

    Standstills are episodes of their own, together with what comes of them: the queue that builds up meanwhile.
    """
    rest = np.logical_or.reduce([flag for kind, flag in flags.items() if kind != "stall"]) & ~flags["stall"]
    severity = np.add.reduce([_WEIGHTS[kind] * flag * state.dt for kind, flag in flags.items()])
    stretches = _with_aftermath(joined(state, flags["stall"]), joined(state, rest))
    found = [(a, b, float(severity[a:b].sum())) for a, b in stretches]
    return [episode for episode in found if _lasts(state, flags, slo, paced, episode[0], episode[1])]


def _of_now(episodes: list[tuple[int, int, float]], flags: dict[str, Bools]) -> list[tuple[int, int, float]]:
    """The episodes without the absences that another one came after: the server is back, and what it loses goes on.

    A queue that the absence itself left is of its own episode, by the gap between them.
    """
    other = np.logical_or.reduce([flag for kind, flag in flags.items() if kind not in ("away", "refusals")])
    losses = [start for start, stop, _ in episodes if other[start:stop].any()]
    return [e for e in episodes if other[e[0] : e[1]].any() or not any(start >= e[1] for start in losses)]


def _with_aftermath(stalls: list[tuple[int, int]], rest: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stalls, each drawn out over the losses that begin while it lasts or right after it, and all other stretches."""
    whole, left = [], list(rest)
    for start, stop in stalls:
        after = [stretch for stretch in left if start <= stretch[0] <= stop + 1]
        left = [stretch for stretch in left if stretch not in after]
        whole.append((start, max([stop, *(b for _, b in after)])))
    return [*whole, *left]


def _lasts(
    state: EngineState, flags: dict[str, Bools], slo: Slo | None, paced: Pace | None, start: int, stop: int
) -> bool:
    """A stall counts from its own least length on, the rest by its flagged time; shorter losses count when they recur.

    Late tokens count where they are a loss on the whole: else what makes the episode is what else was lost in it, with the
    intervals in which somebody's stream halted.
    """
    if flags["stall"][start:stop].any():
        return True
    counted = np.logical_or.reduce([flag[start:stop] for kind, flag in flags.items() if kind != "itl"])
    paced_late = late_by_pace(state, paced, bounds(slo).itl_s)[start:stop]
    slowed = state.dt[start:stop][paced_late].sum() >= level("episode_min")
    if slowed or bounds(slo).itl_promised or _slow_on_the_whole(state, paced, start, stop):
        counted = counted | flags["itl"][start:stop]
    elif counted.any():
        counted = counted | (flags["itl"][start:stop] & (_halts(state)[start:stop] > 0))
    flagged, span = state.dt[start:stop][counted].sum(), state.dt[start:stop].sum()
    recurs = len(runs(counted)) >= 2 and flagged >= level("gain") * span and flagged >= level("stall_min")
    return bool(flagged >= level("episode_min") or recurs)


def _slow_on_the_whole(state: EngineState, paced: Pace | None, start: int, stop: int) -> bool:
    """Late tokens alone are an episode when they are felt and the usual ITL would gain a fifth of the time.

    And so it is over ``late_min`` at least: the worst seconds of a minute are late on any server that computes prompts.
    Where they are over before the window is, over ``late_share`` of it: prompts that came in a bunch are no state.
    """
    paused = _pauses(state, start, stop) >= level("episode_tokens")
    if not _slow_over(state, paced, (start, stop), paused):
        return False
    # A pause is felt by itself, however many tokens came in time around it.
    over = state.t_end[-1] - state.t_end[stop - 1] > level("episode_gap")
    least = max(level("late_min"), level("late_share") * float(state.dt.sum()) if over else 0.0)
    return paused or _slow_over(state, paced, _at_least(state, start, stop, least), paused)


def _slow_over(state: EngineState, paced: Pace | None, stretch: tuple[int, int], paused: bool) -> bool:
    total, tokens = (float(np.nansum(column[slice(*stretch)])) for column in (state.itl.sum, state.itl.count))
    if tokens < level("episode_tokens"):
        return False
    felt = level("felt_itl")
    late = paused or total >= felt * tokens
    usual = np.fmax(paced_itl(state, felt, paced), decode_s(paced, _within(state, stretch)))
    return bool(late and (1 - level("gain")) * total / tokens >= usual)


def _within(state: EngineState, stretch: tuple[int, int]) -> Bools:
    flags = np.zeros(len(state.dt), dtype=bool)
    flags[slice(*stretch)] = True
    return flags


def _at_least(state: EngineState, start: int, stop: int, seconds: float) -> tuple[int, int]:
    """The stretch with so much of the time on either side that it lasts for ``seconds``, as far as the window reaches."""
    last, earlier = len(state.dt), True
    while state.dt[start:stop].sum() < seconds and (start > 0 or stop < last):
        start, stop = (start - 1, stop) if stop == last or (earlier and start > 0) else (start, stop + 1)
        earlier = not earlier
    return start, stop


def _pauses(state: EngineState, start: int, stop: int) -> float:
    """How many gaps between tokens were long enough to be noticed: a mean over many tokens hides them.

    In units of the shortest of them: a stream that halts for two seconds is felt like four halts of half a second.
    """
    return float(_halts(state)[start:stop].sum())


def _halts(state: EngineState) -> Floats:
    """The same by interval."""
    lower = np.concatenate(([0.0], state.itl.bounds)) / level("felt_gap")
    counts = np.nan_to_num(state.itl.counts)
    return np.asarray(counts @ np.where(lower >= 1, lower, 0.0)[: counts.shape[1]])


def _past(state: EngineState, start: int, flags: dict[str, Bools]) -> Bools:
    """Calm intervals before the episode."""
    return _calm(state, flags, slice(0, start))


def _calm(state: EngineState, flags: dict[str, Bools], where: slice) -> Bools:
    """Calm intervals; none when they served too little to compare with."""
    calm = np.zeros(len(state.dt), dtype=bool)
    calm[where] = (state.valid & ~np.logical_or.reduce(list(flags.values())))[where]
    active = calm & ((state.running_end > 0) | (state.running_start > 0) | (state.generation_tokens > 0))
    served = np.nansum(state.first_tokens[calm])
    enough = state.dt[active].sum() >= level("baseline_min") and served >= level("baseline_requests")
    return calm if enough else np.zeros(len(calm), dtype=bool)


def _onset(state: EngineState, start: int) -> Onset:
    """Somewhere in the first flagged interval, or the one before it: a gauge shows a queue only at the next scrape."""
    low, high = float(state.t_start[max(start - 1, 0)]), float(state.t_end[start])
    return Onset(seconds=float(state.t_start[start] + state.t_end[start]) / 2, low=low, high=high)

"""What was asked of an engine in a part of its window, as features that can be put into another load one by one."""

from __future__ import annotations

import math
import random

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import Bools, EngineState, Floats, HistogramDelta

from .arrivals import Kind, classes_of, kinds_in, plateaus_in, spread_within

_FEW = 10  # requests whose mean is an anecdote
_GROWN = 1.5
_UNCHANGED = 0.1  # of a mean length, or of a rate
_SIGMAS = 2.0  # beyond which a difference is hardly chance
_MOSTLY = 0.5  # of the time at one number in flight, and the clients wait for their answers
_LATE_STEPS = 4  # within which an arrival is surely on the page
_CROWDED = 3.0  # times as uneven as single arrivals: by chance those come to 1 +- 0.5 in a dozen intervals
_FEW_COUNTS = 8
_TOGETHER = (1, 2, 3)  # intervals


class Demand(msgspec.Struct, frozen=True):
    """``seconds`` of load: arrivals at ``times`` (an open loop) or ``clients`` that wait for their answers (0: open).

    ``kinds`` are the requests' lengths in the order of their first tokens.
    """

    seconds: float
    times: tuple[float, ...]
    clients: int
    kinds: tuple[Kind, ...]

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds if self.seconds > 0 else 0.0

    @property
    def in_crowds(self) -> bool:
        """Whether several come at one moment."""
        return len(set(self.times)) < len(self.times)


def led(load: Demand, inside: int, lead_s: float, *, seed: int = 2) -> Demand:
    """``load`` with ``inside`` requests that came in ``lead_s`` before it: who was there at its start has been for a while.

    A closed loop is full at once.
    """
    if load.clients or inside < 1 or not lead_s > 0:
        return load
    rng = random.Random(seed)
    before = sorted(rng.uniform(0.0, lead_s) for _ in range(inside))
    kinds = tuple(rng.choice(load.kinds) for _ in before)
    times = (*before, *(t + lead_s for t in load.times))
    return Demand(load.seconds + lead_s, times, 0, (*kinds, *load.kinds))


def paired(healthy: Demand, incident: Demand) -> tuple[Demand, Demand]:
    """Both loads, alike in what did not change between them: chance must not be what they differ by.

    The outputs of an incident are read off those that ended, which are the shorter ones while more and more are open; where
    they are about those of before they are the same. So are arrivals one by one at about the same rate: then the very same.
    """
    # The median: a few giants with short answers change the mean, and are a change of their own.
    lengths = [float(np.median([kind.output for kind in load.kinds])) for load in (healthy, incident)]
    times = lengths[0] / lengths[1]
    if abs(times - 1) < _UNCHANGED:
        incident = msgspec.structs.replace(incident, kinds=tuple(_answering(kind, times) for kind in incident.kinds))
    single = not (healthy.clients or incident.clients or healthy.in_crowds or incident.in_crowds)
    if single and _as_often(healthy, incident):
        healthy = msgspec.structs.replace(healthy, times=incident.times, seconds=incident.seconds)
    return healthy, incident


def _as_often(healthy: Demand, incident: Demand) -> bool:
    """At rates that differ by little, or by no more than chance: of n arrivals by sqrt(n)."""
    if not (healthy.times and incident.times):
        return False
    apart = abs(healthy.rate - incident.rate)
    chance = math.sqrt(healthy.rate / healthy.seconds + incident.rate / incident.seconds)
    return apart < _UNCHANGED * incident.rate or apart < _SIGMAS * chance


def _answering(kind: Kind, times: float) -> Kind:
    return msgspec.structs.replace(kind, output=max(round(times * kind.output), 1))


def demand_of(state: EngineState, where: Bools, *, seed: int = 1) -> Demand | None:
    """The load of the chosen intervals, which must be a stretch; None where no request got a first token in it."""
    at = np.flatnonzero(where)
    if not len(at):
        return None
    part = slice(int(at[0]), int(at[-1]) + 1)
    rng = random.Random(seed)
    seen = _Part(state, part)
    spreads = [spread_within(seen, name, part) for name in _LENGTHS]
    waited = state.waiting_start[part] > 0
    kinds = kinds_in(seen, rng, spreads=(spreads[0], spreads[1]), waited=waited)
    if not kinds:
        return None
    kinds = _own_outputs(state, part, kinds, several=classes_of(seen) > 1)
    edges = np.concatenate((state.t_start[part][:1], state.t_end[part]))
    came = _came(state, part)
    times = [t - edges[0] for t in _moments(came, edges, _stale(state, part), rng)]
    seconds = float(edges[-1] - edges[0])
    return Demand(seconds, tuple(sorted(float(t) for t in times)), _clients(state, part, came), tuple(kinds))


def _own_outputs(state: EngineState, part: slice, kinds: list[Kind], *, several: bool) -> list[Kind]:
    """The outputs of the stretch where they are others than those of the whole window: they may have grown.

    Of its second half where enough finish in it: who finishes early came before. Where there are ``several`` classes of
    requests their outputs keep their ratios, and only a growth by half counts: a mean moves with the mix, too.
    """
    counts, sums = np.nan_to_num(state.output_length.count[part]), np.nan_to_num(state.output_length.sum[part])
    late = slice(len(counts) // 2, None)
    chosen = late if counts[late].sum() >= _FEW else slice(None)
    finished, usual = float(counts[chosen].sum()), float(np.mean([kind.output for kind in kinds]))
    times = float(sums[chosen].sum()) / finished / usual if finished > 0 else 1.0
    # Who still runs is longer than who finished: a little less than usual is no change.
    if abs(times - 1) < _UNCHANGED or (several and not times > _GROWN):
        return kinds
    return [_answering(kind, times) for kind in kinds]


def _came(state: EngineState, part: slice) -> NDArray[np.int64]:
    """Requests that arrived by interval: those finished or refused plus the change of running and waiting (identity I4)."""
    inside = [
        np.nan_to_num(getattr(state, f"running_{e}")) + np.nan_to_num(getattr(state, f"waiting_{e}")) for e in _ENDS
    ]
    came = np.nan_to_num(state.finished) + np.nan_to_num(state.rejections) + inside[1] - inside[0]
    # Who went away unserved is counted nowhere: then those who got a first token and were not waiting are who came.
    served = np.nan_to_num(state.first_tokens) - np.nan_to_num(state.waiting_start)
    came = np.where(came < 0, served, came)
    return np.asarray(np.maximum(np.round(came[part]), 0), dtype=np.int64)


def _stale(state: EngineState, part: slice) -> list[slice]:
    """The intervals, those together in which only a few steps ended between them.

    A page moves when a step ends, and who came meanwhile is on it one step later: with steps as long as the time between
    two scrapes, arrivals are seen late and all at once.
    """
    busy = (state.running_start[part] > 0) & np.isfinite(state.steps[part])
    steps = np.where(busy, state.steps[part], _LATE_STEPS)
    found, first, ended = list[slice](), 0, 0.0
    for i, here in enumerate(steps):
        ended += float(here)
        if ended >= _LATE_STEPS or i == len(steps) - 1:
            found.append(slice(first, i + 1))
            first, ended = i + 1, 0.0
    return found


def _moments(came: NDArray[np.int64], edges: Floats, together: list[slice], rng: random.Random) -> list[float]:
    """When they came: evenly by chance, or in crowds of as many as the numbers by interval waver for."""
    counts = [int(came[at].sum()) for at in together]
    prompt = [n for at, n in zip(together, counts, strict=True) if at.stop - at.start == 1]
    crowd = _crowd(prompt) if 2 * len(prompt) > len(came) else 1.0
    times = list[float]()
    for at, n in zip(together, counts, strict=True):
        crowds = max(round(n / crowd), 1) if crowd > 1 else n
        moments = [rng.uniform(edges[at.start], edges[at.stop]) for _ in range(crowds)]
        times += [moments[i * crowds // n] for i in range(n)]
    return times


def _crowd(counts: list[int]) -> float:
    """How many come at a time; 1 where each comes by itself.

    Groups of g make the number of an interval waver g times as much as single arrivals do (the variance of a compound Poisson
    process over its mean); from one interval to the next, so that a rate that grows is no crowd.
    """
    if not sum(counts):
        return 1.0
    # Over several intervals at a time as well: who comes across an edge between two is half a crowd in each.
    wavers = max((_wavering(counts, by) for by in _TOGETHER), default=1.0)
    return wavers if wavers >= _CROWDED else 1.0


def _wavering(counts: list[int], by: int) -> float:
    """How much the numbers of ``by`` intervals waver, times as much as those of single arrivals; 1 where there are few."""
    blocks = [sum(counts[i : i + by]) for i in range(0, len(counts) - by + 1, by)]
    if len(blocks) < _FEW_COUNTS or not sum(blocks):
        return 1.0
    return float(np.mean(np.diff(blocks) ** 2)) / 2 / float(np.mean(blocks))


_ENDS = ("start", "end")
_LENGTHS = ("request_prompt_tokens", "request_generation_tokens")


def _clients(state: EngineState, part: slice, came: NDArray[np.int64]) -> int:
    """The size of the closed loop that fills most of the time; 0 where there is none.

    What stands still because the rest is refused is no closed loop.
    """
    if np.nansum(state.rejections[part]) > 0:
        return 0
    held = np.nan_to_num(state.running_end[part]) + np.nan_to_num(state.waiting_end[part])
    inside = np.concatenate((held[:1], held))
    stretches = plateaus_in(inside, came)
    size = max(stretches, key=lambda s: s[1] - s[0], default=(0, 0, 0))
    return size[2] if size[1] - size[0] >= _MOSTLY * len(came) else 0


class _Part:
    """A stretch of a state, read as the cumulative counters that it was made of.

    Which lengths there are is read off the whole window: a request's are counted when it finishes, so those of a short
    stretch are of others than those that came in it.
    """

    def __init__(self, state: EngineState, part: slice) -> None:
        self.state = state
        self.part = part

    def total(self, name: str, part: str = "value") -> Floats:
        increase = self._increase(name, part)
        return self._cumulative(increase if name in _LENGTHS else increase[self.part])

    def buckets(self, name: str) -> tuple[Floats, Floats]:
        histogram = self._histogram(name)
        counts = np.nan_to_num(histogram.counts)
        rows = [self._cumulative(row) for row in np.cumsum(counts, axis=1).T]
        return histogram.bounds, np.stack(rows)

    def _histogram(self, name: str) -> HistogramDelta:
        return self.state.prompt_length if name == "request_prompt_tokens" else self.state.output_length

    def _increase(self, name: str, part: str) -> Floats:
        if name == "time_to_first_token_seconds":
            return self.state.first_tokens
        if name == "prompt_tokens":
            return self.state.prompt_tokens
        if name == "prompt_tokens_cached":
            cached = self.state.cached_tokens
            return cached if np.isfinite(cached).any() else self.state.prefix_hits
        histogram = self._histogram(name)
        return histogram.sum if part == "sum" else histogram.count

    @staticmethod
    def _cumulative(increase: Floats) -> Floats:
        return np.concatenate(([0.0], np.cumsum(np.nan_to_num(increase))))

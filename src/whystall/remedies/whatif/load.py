"""The load of a window, rebuilt and drawn anew: what each of the twenty runs is played on."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.emulator.engine.workload import Arrival
from whystall.model.recording import SeriesTable
from whystall.state.arrivals import Kind, Segment, rebuild_load
from whystall.state.series import split_engines

Floats = NDArray[np.float64]
BLOCK_S = 2.0  # arrivals are drawn anew by stretches as long as this,
REACH = 2  # from stretches at most so many away: what happened when stays where it was
MOST_KINDS = 200  # of a closed loop's requests, drawn from those that came
_LONGEST_LEAD_S = 60.0
_EDGE_S = 4.0  # a plateau is seen from an interval or two after its start on, at its other end as long before
_AMID = 0.8  # of the loop's clients are inside while it goes on


class LoadDraw(msgspec.Struct, frozen=True):
    """A load to play: ``start`` is at or before 0, the window's start; what lies before fills the engine."""

    start: float
    segments: tuple[Segment, ...]
    seed: int
    refused_per_s: float = 0.0  # who is not let in at all, because a prompt is too long


def load_draw(table: SeriesTable, *, inside: float, lifetime_s: float, seed: int, anew: bool = True) -> LoadDraw:
    """One draw of the load of ``table``: another placement of its arrivals, ``anew`` a local bootstrap of them.

    ``inside`` requests were there at the start, each for about ``lifetime_s``: as many come before it (Little's law).
    Raises TooLittleData.
    """
    rng = random.Random(f"load {seed}")
    segments = _whole_plateau(rebuild_load(table, seed=seed), table)
    if anew:
        segments = [_anew(segment, rng) for segment in segments]
    lead = min(max(2 * lifetime_s, BLOCK_S), _LONGEST_LEAD_S) if inside > 1 and math.isfinite(lifetime_s) else 0.0
    if lead:
        segments[0] = _led(segments[0], inside, min(lifetime_s, lead), lead, rng)
    return LoadDraw(-lead, tuple(segments), seed)


def _whole_plateau(segments: list[Segment], table: SeriesTable) -> list[Segment]:
    """A closed loop goes on for as long beside its plateau as about as many are inside: a scrape that meets some of its
    clients between two requests ends no loop, and what came then is no load of its own."""
    engine = split_engines(table)[0]
    times = table.times - table.times[0]
    inside = np.nan_to_num(engine.total("num_requests_running")) + np.nan_to_num(engine.total("num_requests_waiting"))
    joined = _joined(segments, _same_loop)  # first, so that a loop is as long as it was
    return _joined(joined, lambda a, b: _goes_on(a, b, times, inside) or _goes_on(b, a, times, inside))


def _joined(segments: list[Segment], belong: Callable[[Segment, Segment], bool]) -> list[Segment]:
    found = segments[:1]
    for segment in segments[1:]:
        if belong(found[-1], segment):
            found[-1] = _both(found[-1], segment)
        else:
            found.append(segment)
    return found


def _same_loop(a: Segment, b: Segment) -> bool:
    return a.clients > 0 and abs(a.clients - b.clients) <= max(1.0, (1 - _AMID) / 4 * a.clients) and b.clients > 0


def _goes_on(closed: Segment, beside: Segment, times: Floats, inside: Floats) -> bool:
    if not closed.clients or beside.clients or beside.seconds > max(closed.seconds, _EDGE_S):
        return False
    seen = inside[(times >= beside.start - 1e-6) & (times <= beside.start + beside.seconds + 1e-6)]
    return bool(len(seen) and np.all(np.abs(seen - closed.clients) <= (1 - _AMID) * closed.clients))


def _both(first: Segment, second: Segment) -> Segment:
    closed = max(first, second, key=lambda segment: segment.clients)
    kinds = (*first.kinds, *second.kinds)
    seconds = first.seconds + second.seconds
    return msgspec.structs.replace(closed, start=first.start, seconds=seconds, arrivals=(), kinds=kinds)


def _anew(segment: Segment, rng: random.Random) -> Segment:
    kinds = tuple(rng.choices(segment.kinds, k=min(len(segment.kinds), MOST_KINDS)))
    if segment.clients or not segment.arrivals:
        return msgspec.structs.replace(segment, kinds=kinds)
    count = max(math.ceil(segment.seconds / BLOCK_S), 1)
    blocks: list[list[Arrival]] = [[] for _ in range(count)]
    for arrival in segment.arrivals:
        blocks[min(int((arrival.t - segment.start) / BLOCK_S), count - 1)].append(arrival)
    drawn: list[Arrival] = []
    for place in range(count):
        other = min(max(place + rng.randint(-REACH, REACH), 0), count - 1)
        moved = (place - other) * BLOCK_S
        drawn += [msgspec.structs.replace(a, t=a.t + moved) for a in blocks[other]]
    drawn = [a for a in drawn if segment.start <= a.t <= segment.start + segment.seconds]
    return msgspec.structs.replace(segment, arrivals=tuple(sorted(drawn, key=lambda a: a.t)), kinds=kinds)


def _led(segment: Segment, inside: float, lifetime_s: float, lead: float, rng: random.Random) -> Segment:
    start, seconds = segment.start - lead, segment.seconds + lead
    if segment.clients:
        return msgspec.structs.replace(segment, start=start, seconds=seconds)
    came = round(inside * lead / max(lifetime_s, 1e-3))
    before = [arrival_of(segment.start - rng.uniform(0, lead), rng.choice(segment.kinds)) for _ in range(came)]
    arrivals = (*sorted(before, key=lambda a: a.t), *segment.arrivals)
    return msgspec.structs.replace(segment, start=start, seconds=seconds, arrivals=arrivals)


def arrival_of(t: float, kind: Kind) -> Arrival:
    prefix = "shared" if kind.shared else ""
    return Arrival(t, kind.prompt, kind.output, prefix=prefix, prefix_tokens=kind.shared)


# -- the load changed


def at_rate(load: LoadDraw, factor: float) -> LoadDraw:
    """``factor`` times as many requests, or clients."""
    rng = random.Random(f"rate {load.seed}")
    return _each(load, lambda segment: _times(segment, factor, rng))


def _times(segment: Segment, factor: float, rng: random.Random) -> Segment:
    whole, rest = divmod(factor, 1)
    arrivals: list[Arrival] = []
    for arrival in segment.arrivals:
        copies = int(whole) + (rng.random() < rest)
        arrivals += [
            msgspec.structs.replace(arrival, t=arrival.t if not n else arrival.t + rng.uniform(0, BLOCK_S / 2))
            for n in range(copies)
        ]
    clients = max(round(segment.clients * factor), 1) if segment.clients else 0
    return msgspec.structs.replace(segment, arrivals=tuple(sorted(arrivals, key=lambda a: a.t)), clients=clients)


def shared_by(load: LoadDraw, replicas: int) -> LoadDraw:
    """What one of ``replicas`` gets from a balancer that hands requests out in turn."""

    def share(segment: Segment) -> Segment:
        arrivals = segment.arrivals[load.seed % replicas :: replicas]
        clients = max(round(segment.clients / replicas), 1) if segment.clients else 0
        return msgspec.structs.replace(segment, arrivals=arrivals, clients=clients)

    return _each(load, share)


def with_clients(load: LoadDraw, clients: int) -> LoadDraw:
    """Another number of clients that wait for their answers."""
    return _each(load, lambda s: msgspec.structs.replace(s, clients=clients) if s.clients else s)


def within_length(load: LoadDraw, tokens: int) -> LoadDraw:
    """Without the requests that do not fit ``max_model_len``; they are refused."""
    whole = sum(len(s.arrivals) for s in load.segments)
    seconds = sum(s.seconds for s in load.segments)

    def fitting(segment: Segment) -> Segment:
        kinds = tuple(k for k in segment.kinds if k.prompt + k.output <= tokens)
        arrivals = tuple(a for a in segment.arrivals if a.prompt_tokens + a.output_tokens <= tokens)
        return msgspec.structs.replace(segment, kinds=kinds or segment.kinds[:1], arrivals=arrivals)

    fit = _each(load, fitting)
    refused = whole - sum(len(s.arrivals) for s in fit.segments)
    return msgspec.structs.replace(fit, refused_per_s=refused / seconds if seconds else 0.0)


def sharing(load: LoadDraw, share: float) -> LoadDraw:
    """With ``share`` of each prompt the same in all of them."""

    def alike(segment: Segment) -> Segment:
        kinds = tuple(msgspec.structs.replace(k, shared=int(share * k.prompt)) for k in segment.kinds)
        arrivals = tuple(
            msgspec.structs.replace(a, prefix="shared", prefix_tokens=int(share * a.prompt_tokens))
            for a in segment.arrivals
        )
        return msgspec.structs.replace(segment, kinds=kinds, arrivals=arrivals)

    return _each(load, alike)


def _each(load: LoadDraw, change: Callable[[Segment], Segment]) -> LoadDraw:
    return msgspec.structs.replace(load, segments=tuple(change(segment) for segment in load.segments))

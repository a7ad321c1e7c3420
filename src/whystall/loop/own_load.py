"""The load of the incident as a plan that can be sent again: what the trial of a change is under."""

from __future__ import annotations

import math
import random

import msgspec

from whystall.emulator.engine.workload import LengthClass
from whystall.errors import TooLittleData
from whystall.model.diagnosis import Diagnosis
from whystall.model.recording import Recording, SeriesTable
from whystall.state.arrivals import Kind, Segment, rebuild_load
from whystall.trials.load.plan import LoadPlan

_MOST_KINDS = 64  # of a closed loop's requests
_SHORTEST_S = 10.0  # an incident that is younger is sent with what was before it


def plan_of(recording: Recording, diagnosis: Diagnosis | None = None, *, seed: int = 1) -> LoadPlan:
    """The load from the incident's onset on, rebuilt from the counters of the first engine. Raises TooLittleData."""
    table = recording.metrics
    onset = next((c.onset.seconds for c in diagnosis.causes if c.onset), 0.0) if diagnosis is not None else 0.0
    length = float(table.times[-1] - table.times[0]) if len(table.times) else 0.0
    start = onset if length - onset >= _SHORTEST_S else 0.0
    segments = rebuild_load(_from(table, start), seed=seed)
    longest = max(segments, key=lambda segment: segment.seconds)
    if longest.clients:
        return LoadPlan(clients=longest.clients, mix=_mix(longest, random.Random(seed)))
    return _replayed(segments)


def _from(table: SeriesTable, start: float) -> SeriesTable:
    inside = table.times >= table.times[0] + start
    return msgspec.structs.replace(table, times=table.times[inside], values=table.values[:, inside])


def _mix(segment: Segment, draw: random.Random) -> tuple[LengthClass, ...]:
    kinds = segment.kinds if len(segment.kinds) <= _MOST_KINDS else tuple(draw.sample(segment.kinds, _MOST_KINDS))
    return tuple(_class(kind) for kind in kinds)


def _class(kind: Kind) -> LengthClass:
    return LengthClass(1.0, (kind.prompt, kind.prompt), (kind.output, kind.output), shared_prefix=kind.shared)


def _replayed(segments: list[Segment]) -> LoadPlan:
    arrivals = sorted((a for segment in segments for a in segment.arrivals), key=lambda arrival: arrival.t)
    if len(arrivals) < 2 or not math.isfinite(arrivals[-1].t):
        raise TooLittleData("too few requests came to send them again", "Look for longer (--for 60s).")
    first = arrivals[0].t
    return LoadPlan(recorded=tuple(msgspec.structs.replace(a, t=a.t - first) for a in arrivals))

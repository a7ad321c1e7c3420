"""When the server gave no page: before its first, between two of them, or after its last."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from whystall.model.engine_state import Bools, EngineState

from .thresholds import level


class Silence(msgspec.Struct, frozen=True):
    """A time without a page, seconds after the window's first page (negative before it)."""

    where: Literal["start", "gap", "end"]
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


def gaps(state: EngineState) -> Bools:
    """Intervals in which the server was away and started anew: far longer than usual, and counters began at zero."""
    if not len(state.dt):
        return np.zeros(0, dtype=bool)
    return np.asarray(~state.valid & (state.dt >= np.median(state.dt) + level("episode_min")))


def silences(state: EngineState) -> list[Silence]:
    """All of them, in order of time; at either end only what failed scrapes tell of."""
    found = [Silence("gap", float(state.t_start[at]), float(state.t_end[at])) for at in np.flatnonzero(gaps(state))]
    if state.unanswered_before_s > 0:
        found.insert(0, Silence("start", -state.unanswered_before_s, 0.0))
    if state.unanswered_after_s > 0:
        found.append(Silence("end", state.seconds, state.seconds + state.unanswered_after_s))
    return found


def longest_silence(state: EngineState) -> Silence | None:
    """The one that counts: the last that reaches the end, else the longest. None where each is shorter than an episode."""
    found = [silence for silence in silences(state) if silence.seconds >= level("episode_min")]
    ends = [silence for silence in found if silence.where == "end"]
    return ends[0] if ends else max(found, key=lambda silence: silence.seconds, default=None)


def died(state: EngineState) -> bool:
    """Whether the log tells of the engine's death and the pages end with it. Where they go on, they show what it left."""
    ends = [event.t - state.start for event in state.events if event.id == "engine_dead" and event.t is not None]
    return bool(ends) and len(state.dt) > 0 and float(state.t_end[-1]) < min(ends) + level("stall_min")

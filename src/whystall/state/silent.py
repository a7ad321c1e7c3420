"""The state of a server that gave no page: what its log says, or a comparison that somebody made, is all there is."""

from __future__ import annotations

import msgspec
import numpy as np

from whystall.model.configuration import Configuration, LogEvent, Start
from whystall.model.engine_state import EngineState
from whystall.model.recording import Recording, SeriesKey, SeriesTable

from .engine import engine_states

_RUNNING = SeriesKey("vllm:num_requests_running")


def silent_state(
    recording: Recording, configuration: Configuration, events: tuple[LogEvent, ...], starts: tuple[Start, ...]
) -> EngineState:
    """One interval of which nothing was seen, and the silence after it: as long as was asked, or as the last start lasts.

    ``recording`` has failed scrapes and no page. The state's signals lack ``metrics``.
    """
    failed = recording.metrics.failed
    if not events and recording.contrasts:
        return _compared_only(recording, configuration)
    first, last = failed[0].t, failed[-1].t
    begun = next((s.begun for s in reversed(starts) if s.begun is not None and s.ready is None), first)
    times = np.array([min(first, begun) - 1.0, min(first, begun)])
    nothing = SeriesTable(times=times, keys=(_RUNNING,), values=np.full((1, 2), np.nan), failed=failed[-1:])
    alone = msgspec.structs.replace(recording, metrics=nothing)
    (state,) = engine_states(alone, configuration, events=events, starts=starts)
    silence = max(last - float(times[-1]), 0.0)
    signals = tuple(name for name in state.signals if name != "metrics")
    return msgspec.structs.replace(state, unanswered_after_s=silence, signals=signals)


def _compared_only(recording: Recording, configuration: Configuration) -> EngineState:
    """One interval of which nothing was seen, and no silence: nobody asked the server, somebody compared it."""
    failed = recording.metrics.failed
    times = np.array([failed[0].t, failed[-1].t])
    table = SeriesTable(times=times, keys=(_RUNNING,), values=np.full((1, 2), np.nan))
    (state,) = engine_states(msgspec.structs.replace(recording, metrics=table), configuration)
    return msgspec.structs.replace(state, signals=tuple(name for name in state.signals if name != "metrics"))

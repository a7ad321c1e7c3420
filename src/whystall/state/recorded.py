"""From a recording to the states of its engines; of a server that gave no page, to what its log says."""

from __future__ import annotations

from whystall.errors import NotMetrics, TooLittleData
from whystall.model.engine_state import EngineState
from whystall.model.recording import Recording
from whystall.sources.changes import asked, shifts
from whystall.sources.configuration import blocks_by_engine, read_configuration
from whystall.sources.dialects import quantity
from whystall.sources.log import read_events, read_iterations, within
from whystall.sources.starts import since, starts

from .engine import engine_states
from .silent import silent_state


def states_of(recording: Recording) -> list[EngineState]:
    """The states of the recording's engines.

    Raises TooLittleData where there is nothing to make one of, NotMetrics where the pages are another program's.
    """
    if not len(recording.metrics.times):
        return [_silent(recording)]
    _require_engine(recording)
    start, end = asked(recording)
    window = within(recording.log, start, end)
    return engine_states(
        recording,
        read_configuration(recording),
        events=read_events(window),
        iterations=read_iterations(window),
        blocks=blocks_by_engine(recording),
        starts=starts(recording.log, end),
        shifts=shifts(recording),
    )


def _silent(recording: Recording) -> EngineState:
    """The state of a server that gave no page at all, from its log or a comparison. Raises where there is neither."""
    begun = starts(recording.log, asked(recording)[1]) if recording.metrics.failed else ()
    events = read_events(since(recording.log, begun))
    if not events and not recording.contrasts:
        raise _nothing_scraped(recording)
    return silent_state(recording, read_configuration(recording), events, begun)


def _require_engine(recording: Recording) -> None:
    known = [found for key in recording.metrics.keys if (found := quantity(key.name)) is not None]
    if not any(found.name == "num_requests_running" for found in known):
        raise NotMetrics(
            f"{recording.target.text} serves metrics, but none of a vLLM or SGLang engine (no num_requests_running)",
            "Check the port; with --disable-log-stats vLLM serves no engine metrics at all.",
        )


def _nothing_scraped(recording: Recording) -> TooLittleData:
    failed = recording.metrics.failed
    why = f"; the last error was {failed[-1].error}" if failed else ""
    return TooLittleData(
        f"{recording.target.text} gave no metrics page in {len(failed)} attempts{why}",
        "Check that the server answers GET /metrics, then look for longer (--for 60s).",
    )

"""States of one engine for unit tests: from the phases of a case, or blank with the columns that a test is about."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from cases.window import recording_of
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Engine, Limit
from whystall.model.engine_state import EngineState, HistogramDelta
from whystall.pipeline import states_of
from whystall.state.histograms import empty_histogram

NAN = float("nan")
_TEXT_OR_STRUCT = {"engine", "configuration", "limits", "start", "valid", "t_start", "t_end", "dt"}
_HISTOGRAMS = {"ttft", "itl", "queue", "prefill", "decode", "e2e", "prompt_length", "output_length"}


def state_of(*phases: dict[str, Any], argv: tuple[str, ...] = (), **case: Any) -> EngineState:
    """The state of a recording made of these phases (``cases/window.py`` says what they hold)."""
    (state,) = states_of(recording_of({"phases": list(phases), "argv": list(argv), **case}))
    return state


def blank(dt: Any, limits: dict[str, float] | None = None, **columns: Any) -> EngineState:
    """A state of intervals of these lengths in which nothing was seen but the columns given."""
    lengths = np.asarray(dt, dtype=float)
    ends = np.cumsum(lengths)
    nothing = np.full(len(lengths), NAN)
    required = [f.name for f in msgspec.structs.fields(EngineState) if f.required]
    fields: dict[str, Any] = {name: nothing for name in required if name not in _TEXT_OR_STRUCT | _HISTOGRAMS}
    fields |= dict.fromkeys(_HISTOGRAMS, empty_histogram(len(lengths)))
    fields |= {
        "engine": Engine(),
        "configuration": Configuration(),
        "limits": tuple(Limit(name, value, "reported", "argv") for name, value in (limits or {}).items()),
        "start": 0.0,
        "valid": np.ones(len(lengths), dtype=bool),
        "t_start": ends - lengths,
        "t_end": ends,
        "dt": lengths,
    }
    return EngineState(**{**fields, **{name: _column(value) for name, value in columns.items()}})


def histogram(bounds: Any, by_interval: list[list[float]]) -> HistogramDelta:
    """The histogram of these observations, a list for each interval."""
    edges = np.asarray(bounds, dtype=float)
    counts = np.zeros((len(by_interval), len(edges) + 1))
    for row, values in zip(counts, by_interval, strict=True):
        np.add.at(row, np.searchsorted(edges, values, side="left"), 1)
    sums, totals = [float(sum(values)) for values in by_interval], [float(len(values)) for values in by_interval]
    return HistogramDelta(edges, counts, np.array(sums), np.array(totals))


def _column(value: Any) -> Any:
    return np.asarray(value, dtype=float) if isinstance(value, list) else value

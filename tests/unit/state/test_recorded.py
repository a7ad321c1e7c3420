"""What recordings become states of, and which are refused by name."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import shown
from whystall.errors import NotMetrics, TooLittleData
from whystall.model.recording import SeriesTable
from whystall.state.recorded import states_of


def test_a_recording_of_one_engine_is_one_state() -> None:
    (state,) = states_of(shown.recording("seq_cap"))
    assert len(state.dt) == len(shown.recording("seq_cap").metrics.times) - 1
    assert state.configuration.model


def test_a_page_of_another_program_and_no_page_at_all_are_refused() -> None:
    recording = shown.recording("seq_cap")
    table = recording.metrics
    others = [i for i, key in enumerate(table.keys) if not key.name.startswith("vllm:")]
    foreign = SeriesTable(table.times, tuple(table.keys[i] for i in others), table.values[others])
    with pytest.raises(NotMetrics):
        states_of(msgspec.structs.replace(recording, metrics=foreign))
    nothing = SeriesTable(np.zeros(0), (), np.zeros((0, 0)))
    with pytest.raises(TooLittleData):
        states_of(msgspec.structs.replace(recording, metrics=nothing, log=()))

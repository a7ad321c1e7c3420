"""An engine's profile from the window that is looked at: its own steps, with what is known of such machines."""

from __future__ import annotations

import msgspec
import numpy as np

from whystall.emulator.engine.profile import StepProfile
from whystall.errors import TooLittleData
from whystall.model.engine_state import EngineState
from whystall.model.recording import SeriesTable

from .calibration import StepSamples, fit_front, fit_profile, step_samples
from .profile_fit import graph_tokens, iteration_samples, table_gap

_USUAL_BUDGET = 8192


class WindowFit(msgspec.Struct, frozen=True):
    """A profile, the samples that it was fitted on, and the profile of such machines that it started from."""

    profile: StepProfile
    samples: StepSamples
    known: str = ""


def after_restart(state: EngineState) -> SeriesTable | None:
    """The engine's series from its last restart on; None where there are none."""
    table = state.series
    if table is None or not len(table.times):
        return None
    broken = np.flatnonzero(~state.valid)
    first = int(broken[-1]) + 1 if len(broken) else 0
    return _from(table, first)


def from_on(table: SeriesTable, moment: float) -> SeriesTable:
    """The part from ``moment`` (unix seconds) on."""
    return _from(table, int(np.searchsorted(table.times, moment - 1e-6)))


def _from(table: SeriesTable, first: int) -> SeriesTable:
    return SeriesTable(table.times[first:], table.keys, table.values[:, first:]) if first else table


def fit_window(state: EngineState, known: StepProfile | None = None, since_s: float = 0.0) -> WindowFit:
    """The profile that fits the state's own window, from ``since_s`` after its start on: steps of before were others.

    ``known``: a profile of such a machine, for what it does not tell.

    Raises TooLittleData where the window has too few intervals of steady work.
    """
    table = after_restart(state)
    if table is None:
        raise TooLittleData("the engine's series were not kept", "record it, and ask again of the recording")
    table = from_on(table, state.start + since_s)
    samples = _samples(state, table)
    profile = fit_profile([samples], "window", known)
    configuration = state.configuration
    gap = None if configuration.async_scheduling else table_gap(table, state.iterations)
    front = fit_front([table])
    profile = msgspec.structs.replace(
        profile,
        source=f"the window of {table.times[-1] - table.times[0]:.0f} s",
        host_s=gap or 0.0,
        front_s=front or (known.front_s if known else 0.0),
        model=configuration.model,
        gpu="cpu" if configuration.device == "cpu" else configuration.gpu_name,
        tensor_parallel=configuration.tensor_parallel or 1,
        weights_bytes=configuration.weights_bytes or 0.0,
    )
    return WindowFit(profile, samples, known.name if known else "")


def _samples(state: EngineState, table: SeriesTable) -> StepSamples:
    blocks, size = state.limit_value("num_gpu_blocks"), state.limit_value("block_size")
    tokens = float(np.nan_to_num(blocks * (size if size > 0 else 16)))
    whole = len(table.times) and table.times[0] <= state.start + 1e-6  # lines of before are those of other steps
    logged = state.iterations is not None and len(state.iterations.t) > 1
    if logged and whole and state.iterations is not None and not state.configuration.async_scheduling:
        return iteration_samples(state.iterations, tokens)
    budget = state.limit_value("max_num_batched_tokens")
    return step_samples(
        table,
        cache_tokens=tokens,
        token_budget=int(budget) if budget > 0 else _USUAL_BUDGET,
        graph_tokens=graph_tokens(state.configuration),
    )

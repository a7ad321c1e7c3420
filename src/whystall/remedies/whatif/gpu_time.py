"""How long the GPU works in a step that waits for the host: its busy share of the window, times the step."""

from __future__ import annotations

import math

import numpy as np

from whystall.emulator.engine.profile import StepProfile
from whystall.model.engine_state import EngineState
from whystall.state.calibration import StepSamples

_IDLES = 0.85  # in use for less of the time, and it is seen to wait; above, the gauge says no more than "always"
_LEAST_USED = 0.02  # below two steps of a gauge that counts in percent


def busy_step_s(state: EngineState, since_s: float = 0.0) -> float:
    """GPU seconds of a mean step from ``since_s`` of the window on; NaN where no gauge tells, or where it never idles."""
    gpu = state.gpu
    if gpu is None or (state.configuration.tensor_parallel or 1) > 1:  # waiting in a collective counts as use
        return math.nan
    steps, used = state.steps, gpu.util_ratio
    at = state.valid & np.isfinite(steps) & np.isfinite(used) & (steps > 0) & (state.t_start >= since_s - 1e-6)
    at &= (state.running_start > 0) & (state.running_end > 0)
    if not at.any():
        return math.nan
    seconds = float(state.dt[at].sum())
    share = float((used[at] * state.dt[at]).sum()) / seconds
    return share * seconds / float(steps[at].sum()) if _LEAST_USED < share < _IDLES else math.nan


def floor_of(busy_s: float, samples: StepSamples | None, known: StepProfile) -> float:
    """The GPU's fixed part of a step: ``busy_s`` of a mean step less what its requests, their context and its prompts
    take by ``known``; NaN where nothing is left."""
    if samples is None or not len(samples):
        return math.nan
    steps, mixed = samples.steps.sum(), samples.mixed
    decode = known.decode_request_s * samples.requests + known.decode_context_s * samples.context
    prompts = np.maximum(known.token_s * samples.tokens - known.floor_s, 0.0)
    prompts = prompts + known.pair_s * samples.tokens * samples.depth[:, None]
    beside = float((decode * samples.steps).sum() + (mixed * prompts).sum()) / float(steps)
    left = busy_s - beside
    return left if left > 0 else math.nan

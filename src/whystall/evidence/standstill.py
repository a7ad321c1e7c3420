"""When the engine stood still with requests in flight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState
from whystall.state.histograms import bucket_counts

from .smoothing import SMOOTH_S, keep_runs, runs, smooth_rate
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


_EXPECTED = 20.0  # requests
# Lines of the log that say so (vllm.md 2, hang).
_WAITS = ("shm_stall", "rpc_timeout", "nccl_timeout")


def stalled(state: EngineState) -> Bools:
    """Intervals of total standstill: requests in flight, and no step, no token, no admission, no change of KV blocks.

    Runs shorter than ``stall_min`` are dropped. A long prefill also yields no token: runs that the prompts finished
    right after them explain, at the rate this server prefills, are dropped, and those in which the GPU works.
    """
    with np.errstate(invalid="ignore"):
        in_flight = (state.running_start > 0) | (state.waiting_start > 0)
        flat = (state.generation_tokens == 0) & ~(state.steps > 0) & ~(state.first_tokens > 0)
        same = (state.running_start == state.running_end) & ~(np.abs(state.kv_usage_end - state.kv_usage_start) > 0)
    still = np.asarray(in_flight & flat & same)
    if state.gpu is not None:  # a GPU that works may be in a long step; but no step lasts as long as a hang
        spinning = keep_runs(still, state.dt, level("hang_min"))
        still = (still & ~(state.gpu.util_ratio > level("gpu_idle"))) | spinning
    still = keep_runs(still, state.dt, level("stall_min"))
    for start, stop in runs(still):
        if state.dt[start:stop].sum() - _prefilling(state, stop) < level("stall_min"):
            still[start:stop] = False
    return still | _hung_unseen(state)


def _hung_unseen(state: EngineState) -> Bools:
    """The silence at the window's end in which a process that waits for another one says so in the log.

    An engine that hangs while nobody is inside takes up no request that comes: its gauges stay at zero as on an idle one.
    So many would have come at the rate of before that chance is no reason for none.
    """
    silent = np.zeros(len(state.dt), dtype=bool)
    active = np.flatnonzero((state.steps > 0) | (state.generation_tokens > 0) | (state.first_tokens > 0))
    told = [e.t - state.start for e in state.events if e.id in _WAITS and e.t is not None]
    if not len(active) or not any(t - state.t_end[active[-1]] >= level("hang_min") for t in told):
        return silent
    last = int(active[-1]) + 1
    rate = float(np.nansum(state.first_tokens[:last])) / float(state.dt[:last].sum())
    if rate * float(state.dt[last:].sum()) >= _EXPECTED:
        silent[last:] = True
    return silent


def _prefilling(state: EngineState, stop: int) -> float:
    """Seconds of a silent run ending at ``stop`` that prefill explains.

    The prompts counted in the interval after it, at this server's best rate, less that interval itself; at the window's
    end the largest step there can be. None of it where an idle GPU was seen.
    """
    if state.gpu is not None and np.isfinite(state.gpu.util_ratio[stop - 1]):
        return 0.0
    if stop == len(state.dt):
        return _largest_step(state) / _prefill_rate(state)
    prompts = float(np.nansum(state.computed_tokens[stop]))
    return max(prompts / _prefill_rate(state) - float(state.dt[stop]), 0.0)


def frozen_tokens(state: EngineState) -> Bools:
    """Intervals that hold a standstill which ended inside them: most running requests waited seconds for one token.

    What scrapes further apart than the standstill still show in the ITL histogram. Prefills explain waits of the time
    that the largest step takes at half the best rate seen. Preempted requests wait long by themselves, so intervals with
    preemptions don't count.
    """
    bounds = state.itl.bounds
    if not len(bounds):
        return np.zeros(len(state.dt), dtype=bool)
    longest = 2 * _largest_step(state) / _prefill_rate(state)
    lower = np.concatenate(([0.0], bounds))
    long_waits = np.nan_to_num(state.itl.counts)[:, lower >= max(level("stall_min"), longest)].sum(axis=1)
    running = np.fmax(state.running_start, state.running_end)
    calm = ~(smooth_rate(state, state.preemptions) > 0)
    return np.asarray((long_waits >= 0.5 * running) & (running > 0) & (long_waits >= 4) & calm)


def near_standstill(state: EngineState) -> Bools:
    """Intervals within some seconds of a standstill, in which means speak of it and not of the time around it."""
    return near(state, stalled(state) | frozen_tokens(state))


def near(state: EngineState, flags: Bools) -> Bools:
    """Intervals within ``SMOOTH_S`` of a flagged one."""
    near = np.zeros(len(flags), dtype=bool)
    for start, stop in runs(flags):
        low, high = state.t_start[start] - SMOOTH_S, state.t_end[stop - 1] + SMOOTH_S
        near |= (state.t_end > low) & (state.t_start < high)
    return near


def _largest_step(state: EngineState) -> float:
    """Prompt tokens that one step may hold: the budget where it is known, else two of the longest prompts seen."""
    budget = state.limit("max_num_batched_tokens")
    if budget is not None and budget.known != "inferred":
        return budget.value
    seen = np.flatnonzero(bucket_counts(state.prompt_length, state.valid) > 0)
    bounds = state.prompt_length.bounds
    return 2 * float(bounds[min(int(seen[-1]), len(bounds) - 1)]) if len(seen) and len(bounds) else 0.0


def _prefill_rate(state: EngineState) -> float:
    """Most prompt tokens a second over ten seconds: what this server was seen to prefill. Infinite where none was."""
    rates = smooth_rate(state, state.computed_tokens)
    seen = rates[np.isfinite(rates)]
    return float(seen.max()) if len(seen) and seen.max() > 0 else float("inf")

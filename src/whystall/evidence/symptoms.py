"""Where users suffer: one bool an interval for each kind of loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState
from whystall.model.slo import Slo
from whystall.state.histograms import means

from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Rates and means by interval are taken over this much time around it: single intervals hold a handful of requests.
_SMOOTH_S = 10.0


def symptoms(state: EngineState, slo: Slo | None = None) -> dict[str, Bools]:
    """Kind of loss -> the intervals that have it."""
    felt_itl = slo.itl_p95_s if slo is not None and slo.itl_p95_s is not None else level("felt_itl")
    return {
        "stall": stalled(state),
        "refusals": _refusals(state),
        "queue": _positive(queue_delay(state) > level("felt_wait")),
        "itl": slow_tokens(state, felt_itl),
        "front": _positive(front_residual(state) > level("felt_wait")),
        "host_gap": host_gap(state),
        "throttle": throttled(state),
    }


def queue_delay(state: EngineState) -> Floats:
    """Seconds that a request arriving in the interval will wait: waiting over the admission rate (Little's law).

    Fresh where ``request_queue_time_seconds`` is not: that one fills when requests finish. 0 where nobody waits;
    infinite where some wait and nobody has been admitted around the interval.
    """
    waiting = _mean_gauge(state.waiting_start, state.waiting_end)
    admitted = smooth_rate(state, state.first_tokens)
    with np.errstate(divide="ignore", invalid="ignore"):
        delay = np.where(waiting > 0, waiting / admitted, 0.0)
    # One scrape with a queue between two without is a step in progress, not a wait.
    both = np.fmin(state.waiting_start, state.waiting_end) > 0
    neighbours = np.convolve(np.nan_to_num(state.waiting_end) > 0, np.ones(5), mode="same")[: len(both)] >= 2
    return np.where(np.isnan(waiting), np.nan, np.where(both | neighbours, delay, 0.0))


def decode_itl(state: EngineState) -> float:
    """Seconds between tokens where steps hold next to no prompt tokens: what the batch itself takes. NaN when unseen.

    Low tenth of the intervals without prompts, else the histogram's median where it lies well under the mean.
    """
    itl = means(state.itl)
    with np.errstate(invalid="ignore", divide="ignore"):
        pure = (state.computed_tokens <= state.generation_tokens * 0.1) & (state.itl.count >= 4)
    seen = itl[pure & np.isfinite(itl)]
    return float(np.percentile(seen, 25)) if len(seen) >= 2 else float("nan")


def slow_tokens(state: EngineState, felt: float) -> Bools:
    """Intervals whose mean ITL is felt and over twice the decode-only one, and those in which decoding requests get none."""
    itl, alone = means(state.itl), decode_itl(state)
    limit = max(felt, level("slow_factor") * alone) if np.isfinite(alone) else felt
    slow = (itl > limit) & (state.itl.count >= 4)
    silent = (state.generation_tokens == 0) & (state.running_start > 0) & (state.running_end > 0)
    return _positive(slow) | _positive(silent & (state.dt > 4 * (alone if np.isfinite(alone) else felt)))


def front_residual(state: EngineState) -> Floats:
    """Seconds of TTFT that are neither queue nor prefill, by interval; NaN where a queue makes the moments differ.

    TTFT is observed at the first token and queue and prefill at the finish, so with a queue the two speak of different
    requests: only intervals without one count.
    """
    calm = (state.waiting_start == 0) & (state.waiting_end == 0)
    calm &= np.concatenate(([True], calm[:-1])) if len(calm) else calm
    ttft = smooth_mean(state, state.ttft.sum, state.ttft.count)
    parts = smooth_mean(state, state.queue.sum, state.queue.count)
    parts = parts + smooth_mean(state, state.prefill.sum, state.prefill.count)
    return np.where(calm, ttft - parts, np.nan)


def host_gap(state: EngineState) -> Bools:
    """Intervals in which the engine steps without a pause and the GPU is idle for most of it."""
    if state.gpu is None:
        return np.zeros(len(state.dt), dtype=bool)
    busy = stepping_ratio(state) > level("stepping")
    return _positive((state.gpu.util_ratio < level("gpu_idle")) & busy & (state.running_start > 0))


def stepping_ratio(state: EngineState) -> Floats:
    """Share of the time that steps fill: mean ITL x steps / time. Near 1 while requests are always running."""
    itl = smooth_mean(state, state.itl.sum, state.itl.count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return itl * state.steps / state.dt


def stalled(state: EngineState) -> Bools:
    """Intervals of total standstill: requests in flight, and no step, no token, no admission, no change of KV blocks.

    Runs shorter than ``stall_min`` are dropped. A long prefill step also yields no token, but admissions around it
    change running or the blocks in use.
    """
    with np.errstate(invalid="ignore"):
        in_flight = (state.running_start > 0) | (state.waiting_start > 0)
        flat = (state.generation_tokens == 0) & ~(state.steps > 0) & ~(state.first_tokens > 0)
        same = (state.running_start == state.running_end) & ~(state.kv_usage_start != state.kv_usage_end)
    still = _positive(in_flight & flat & same)
    return keep_runs(still, state.dt, level("stall_min"))


def throttled(state: EngineState) -> Bools:
    """Intervals in which the GPU's clock is held down by heat, a brake or a fault (not by the power cap alone)."""
    if state.gpu is None:
        return np.zeros(len(state.dt), dtype=bool)
    held = (state.gpu.throttle_bits > 0) & ((state.gpu.throttle_bits & HARD_THROTTLE) != 0)
    low = state.gpu.sm_clock_hz < level("clock_low") * state.gpu.max_clock_hz
    return _positive(held & low & (state.running_end > 0))


# NVML clock event reasons: HW slowdown, SW thermal, HW thermal, HW power brake. The power cap (0x4) is normal at full load.
HARD_THROTTLE = 0x8 | 0x20 | 0x40 | 0x80


def keep_runs(flags: Bools, dt: Floats, least: float) -> Bools:
    """``flags`` without its runs that last under ``least`` seconds."""
    kept = flags.copy()
    for start, stop in runs(flags):
        if dt[start:stop].sum() < least:
            kept[start:stop] = False
    return kept


def runs(flags: Bools) -> list[tuple[int, int]]:
    """Runs of True as half-open index pairs."""
    edges = np.diff(np.concatenate(([0], flags.astype(np.int8), [0])))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


def smooth_rate(state: EngineState, increase: Floats) -> Floats:
    """Rate per second of an increase over about ten seconds around each interval."""
    total, seconds = _around(state, increase), _around(state, np.where(np.isfinite(increase), state.dt, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seconds > 0, total / seconds, np.nan)


def smooth_mean(state: EngineState, total: Floats, count: Floats) -> Floats:
    """Mean of a histogram over about ten seconds around each interval, NaN where nothing was observed."""
    sums, counts = _around(state, total), _around(state, count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(counts > 0, sums / counts, np.nan)


def _around(state: EngineState, increase: Floats) -> Floats:
    """Sum of an increase over the intervals whose middle lies within half of ``_SMOOTH_S`` of each interval's middle."""
    middle = (state.t_start + state.t_end) / 2
    cumulative = np.concatenate(([0.0], np.cumsum(np.nan_to_num(increase))))
    first = np.searchsorted(middle, middle - _SMOOTH_S / 2, side="left")
    last = np.searchsorted(middle, middle + _SMOOTH_S / 2, side="right")
    return cumulative[last] - cumulative[first]


def _refusals(state: EngineState) -> Bools:
    refused = np.nan_to_num(state.rejections) + np.nan_to_num(state.http_errors)
    if state.client is not None:
        refused = refused + np.nan_to_num(state.client.errors)
    answered = np.nan_to_num(state.finished) + refused
    share = refused.sum() / answered.sum() if answered.sum() > 0 else 0.0
    return refused > 0 if share > level("felt_errors") else np.zeros(len(refused), dtype=bool)


def _mean_gauge(start: Floats, end: Floats) -> Floats:
    return np.where(np.isnan(start), end, np.where(np.isnan(end), start, (start + end) / 2))


def _positive(condition: Bools) -> Bools:
    return np.asarray(condition, dtype=bool)

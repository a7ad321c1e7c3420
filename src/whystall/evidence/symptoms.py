"""Where users suffer: one bool an interval for each kind of loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState, HistogramDelta
from whystall.model.slo import Slo
from whystall.state.histograms import mean_of, means, quantile_of

from .bounds import bounds
from .client_gap import client_gap
from .first_tokens import late_first_tokens
from .front_end import front_residual
from .pace import Pace, late_by_pace
from .queueing import queue_delay
from .silence import gaps
from .smoothing import SMOOTH_S, around, cumulative, joined, runs, smooth_mean
from .standstill import frozen_tokens, near, near_standstill, stalled
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def symptoms(state: EngineState, slo: Slo | None = None, paced: Pace | None = None) -> dict[str, Bools]:
    """Kind of loss -> the intervals that have it. What holds every promise of ``slo`` loses nothing.

    ``ttft`` and ``e2e`` are promises broken by none of the other kinds; without a promise ``ttft`` are first tokens that
    come later than they did. ``paced``: where steps slowed at equal work.
    """
    at = bounds(slo)
    stall = stalled(state) | frozen_tokens(state)
    slow = promised_tokens_late(state, at.itl_s) if at.itl_promised else _late(state, at.itl_s, paced)
    waste = slow | ~np.array(at.itl_promised)  # an idle GPU or a low clock is no loss while tokens come as promised
    found = {
        "stall": stall,
        "refusals": _refusals(state, at.errors_ratio),
        "queue": _queue(state, at.wait_s),
        "itl": slow & ~stall,
        "front": _positive(front_residual(state) > at.wait_s),
        "host_gap": host_gap(state) & ~stall & waste,
        "throttle": throttled(state) & waste,
        "client": _late_at_the_client(state, at.wait_s),
        "contrast": contrasted(state),
        "away": gaps(state),
    }
    # Tails are taken over some seconds around an interval: near another loss they speak of that one. Single slow steps
    # do not make first tokens late for long: what does is its own loss.
    # And the way to the client has no part in what the server takes.
    rest = ~near(state, np.logical_or.reduce([flags for kind, flags in found.items() if kind not in ("itl", "client")]))
    return found | {
        "ttft": _first_tokens_late(state, at.ttft_s) & rest,
        "e2e": _tail_above(state, state.e2e, at.e2e_s) & rest,
    }


def _first_tokens_late(state: EngineState, promised: float | None) -> Bools:
    return late_first_tokens(state) if promised is None else _tail_above(state, state.ttft, promised)


def contrasted(state: EngineState) -> Bools:
    """Intervals with requests inside, where the same load was measured without one thing and was better."""
    worse = [
        contrast.since - state.start for contrast in state.contrasts if (1 - level("compared")) * contrast.ratio >= 1
    ]
    if not worse:
        return np.zeros(len(state.dt), dtype=bool)
    if "metrics" not in state.signals:
        return np.ones(len(state.dt), dtype=bool)  # nobody looked, somebody measured
    return _positive((np.fmax(state.running_start, state.running_end) > 0) & (state.t_start >= min(worse) - 0.5))


def _late_at_the_client(state: EngineState, wait_s: float) -> Bools:
    """Intervals around which the client gets first tokens well after the server sent them."""
    return _positive(client_gap(state) > wait_s)


def _queue(state: EngineState, bound: float) -> Bools:
    """Intervals with a queue that is felt: seen by the gauge, or told at their finish by those who waited in it."""
    if not len(state.dt):
        return np.zeros(0, dtype=bool)
    seen = _positive(queue_delay(state) > bound)
    return _queued_unseen(state, seen & ~_told_otherwise(state, seen, bound), bound)


def _told_otherwise(state: EngineState, seen: Bools, bound: float) -> Bools:
    """Intervals of ``seen`` between scrapes far apart whose requests waited for less than half the ``bound``, as they tell.

    A gauge is one instant of its interval: of a wave of a second at a scrape it makes an interval's queue. Those who were
    there then have finished some time later, with all others of that time, who waited for nothing.
    """
    otherwise = np.zeros(len(seen), dtype=bool)
    lived, step = mean_of(state.e2e, state.valid), float(np.median(state.dt))
    if step < level("episode_min") or not np.isfinite(lived):
        return otherwise
    for start, stop in runs(seen):
        until = state.t_end[stop - 1] + lived + step
        at = slice(start, int(np.searchsorted(state.t_end, until)) + 1)
        waited, finished = (float(np.nansum(column[at])) for column in (state.queue.sum, state.queue.count))
        if until <= state.t_end[-1] and finished >= level("front_requests") and waited < bound / 2 * finished:
            otherwise[start:stop] = True
    return otherwise


def _queued_unseen(state: EngineState, seen: Bools, bound: float) -> Bools:
    """``seen``, and intervals in which requests finish that had waited, inside the window, where no scrape saw a queue.

    Over the seconds up to the interval, not after it: a queue must not seem to begin before it does. Nor to last until
    all have finished that were in it: where the gauge saw it while they lived, that is when they waited. What lies
    between two waves of a queue stays part of them.
    """
    first = np.searchsorted(state.t_end, state.t_end - SMOOTH_S, side="right")
    last = np.arange(1, len(state.dt) + 1)

    def lately(increase: Floats) -> Floats:
        total = cumulative(increase)
        return total[last] - total[first]

    finished = lately(state.queue.count)
    with np.errstate(invalid="ignore", divide="ignore"):
        waited, lived = lately(state.queue.sum) / finished, lately(state.e2e.sum) / lately(state.e2e.count)
    back = state.t_end - np.nan_to_num(lived) - SMOOTH_S
    told = cumulative(seen.astype(float))
    unseen = told[last] - told[np.searchsorted(state.t_start, back, side="left")] == 0
    comes_again = told[-1] - told[last] > 0
    late = (waited > bound) & (lived < state.t_end) & (finished >= 3)
    return seen | _positive(late & (unseen | comes_again))


def _late(state: EngineState, felt: float, paced: Pace | None) -> Bools:
    return slow_tokens(state, felt, paced_itl(state, felt, paced)) | late_by_pace(state, paced, felt)


def decode_itl(state: EngineState, where: Bools | None = None) -> float:
    """Seconds between tokens where steps hold next to no prompt tokens: what the batch itself takes. NaN when unseen.

    Median over the intervals (of ``where``) in which hardly any prompt finished and none is in flight: a chunk in flight
    is counted nowhere yet, but running or the blocks in use rise with it.
    """
    itl = means(state.itl)
    with np.errstate(invalid="ignore", divide="ignore"):
        pure = (state.computed_tokens <= state.generation_tokens * 0.1) & (state.itl.count >= 4)
        pure &= ~(state.running_end > state.running_start) & ~_chunks_in_flight(state)
    pure &= True if where is None else where
    seen = itl[pure & np.isfinite(itl)]
    return float(np.median(seen)) if len(seen) >= 2 else float("nan")


def _chunks_in_flight(state: EngineState) -> Bools:
    """Intervals in which more blocks were taken than decoding needs: one a block size of tokens, and one a sequence."""
    blocks, size = state.limit_value("num_gpu_blocks"), state.limit_value("block_size")
    if not (np.isfinite(blocks) and np.isfinite(size) and size > 0):
        return np.zeros(len(state.dt), dtype=bool)
    taken = (state.kv_usage_end - state.kv_usage_start) * (blocks - 1)
    needed = np.nan_to_num(state.generation_tokens) / size + np.fmax(state.running_start, state.running_end)
    return _positive(taken > needed + 1)


def usual_itl(state: EngineState, felt: float, usual: Bools | None = None) -> float:
    """What an ITL is compared with: the decode-only one, else the histogram's median but no more than twice the felt one.

    Where no step without prompts was seen, the median is one of them as long as such steps are the most; a median that
    is itself slow is no excuse. ``usual`` are the intervals before steps slowed at equal work, all without such a change.
    """
    alone = decode_itl(state, usual)
    if np.isfinite(alone):
        return alone
    median = quantile_of(state.itl, 0.5, state.valid if usual is None else usual)[0]
    return min(median, 2 * felt) if np.isfinite(median) else felt


def paced_itl(state: EngineState, felt: float, paced: Pace | None) -> float:
    """The usual ITL of a saved baseline; without one that of this window, before steps slowed at equal work."""
    if paced is None:
        return usual_itl(state, felt)
    return paced.known_itl_s if np.isfinite(paced.known_itl_s) else usual_itl(state, felt, paced.usual)


def slow_tokens(state: EngineState, felt: float, known: float | None = None) -> Bools:
    """Intervals whose mean ITL is felt and over twice the usual one, and those in which decoding requests get none."""
    itl, usual = means(state.itl), usual_itl(state, felt) if known is None else known
    late = max(felt, level("slow_factor") * usual)
    slow = (itl > late) & (state.itl.count >= 4)
    # A stream of a token a second has too few of them in an interval: those around it are taken together.
    nearby = smooth_mean(state, state.itl.sum, state.itl.count)
    slow |= (nearby > late) & (around(state, state.itl.count) >= 4) & ~(state.itl.count >= 4) & (state.running_end > 0)
    silent = (state.generation_tokens == 0) & (state.running_start > 0) & (state.running_end > 0)
    return _positive(slow) | _positive(silent & (state.dt > 4 * usual))


def promised_tokens_late(state: EngineState, bound: float) -> Bools:
    """Intervals around which more than one token in twenty comes later than was promised, or the mean does."""
    mean = smooth_mean(state, state.itl.sum, state.itl.count)
    return _tail_above(state, state.itl, bound) | _positive((mean > bound) & (state.itl.count >= 4))


def _tail_above(state: EngineState, histogram: HistogramDelta, bound: float | None) -> Bools:
    """Intervals around which the 95th percentile is certainly above ``bound``; none where nothing was promised."""
    if bound is None:
        return np.zeros(len(state.dt), dtype=bool)
    counts = np.nan_to_num(histogram.counts)
    lower = np.concatenate(([0.0], histogram.bounds))[: counts.shape[1]]
    own = counts[:, lower >= bound].sum(axis=1)
    late, seen = around(state, own), around(state, counts.sum(axis=1))
    # An interval whose own are all in time has no part in the loss of its neighbours.
    return _positive((late > 0.05 * seen) & (seen >= 4) & ((own > 0) | (counts.sum(axis=1) == 0)))


def host_gap(state: EngineState) -> Bools:
    """Intervals in which the engine steps without a pause and the GPU's idle time is a loss (see ``idle_lost``)."""
    if state.gpu is None:
        return np.zeros(len(state.dt), dtype=bool)
    busy = (stepping_ratio(state) > level("stepping")) & (state.running_start > 0) & ~near_standstill(state)
    itl = smooth_mean(state, state.itl.sum, state.itl.count)
    return _sustained(state, _positive(idle_lost(state.gpu.util_ratio, itl, quick(state)) & busy))


def quick(state: EngineState) -> float:
    """The ITL up to which an idle GPU is no loss; none where somebody took the CUDA graphs away, which can be undone."""
    return 0.0 if state.configuration.enforce_eager else level("quick_itl")


def _sustained(state: EngineState, gaps: Bools) -> Bools:
    """The stretches of idle intervals that are seen for long enough, and lose over the whole stretch too.

    Single intervals below the line are the gauge's dither.
    """
    assert state.gpu is not None
    kept = np.zeros(len(gaps), dtype=bool)
    for start, stop in joined(state, gaps):
        part = slice(start, stop)
        util, dt, tokens = state.gpu.util_ratio[part], state.dt[part], np.nansum(state.itl.count[part])
        seen = np.isfinite(util)
        if dt[gaps[part]].sum() < level("episode_min") or not tokens > 0:
            continue
        busy = float((util[seen] * dt[seen]).sum() / dt[seen].sum())
        kept[part] = gaps[part] & idle_lost(busy, float(np.nansum(state.itl.sum[part]) / tokens), quick(state))
    return kept


def idle_lost(util: Floats | float, itl: Floats | float, quick: float) -> Bools:
    """Whether a GPU busy for ``util`` of the steps' time is a loss at an ITL: tokens take twice what the GPU needs for
    them, or they are late as felt and would gain a fifth without the idle time (DESIGN.md, SLO).

    Tokens that come within ``quick`` are no loss however idle the GPU is: that of a small model always waits for the host.
    """
    felt = np.asarray(itl)
    return _positive(
        (felt > quick) & (np.asarray(util) < np.where(felt > level("felt_itl"), 1 - level("gain"), level("gpu_idle")))
    )


def stepping_ratio(state: EngineState) -> Floats:
    """Share of the time that steps fill: mean ITL x steps / time. Near 1 while requests are always running."""
    itl = smooth_mean(state, state.itl.sum, state.itl.count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return itl * state.steps / state.dt


def throttled(state: EngineState) -> Bools:
    """Intervals in which the GPU's clock is held down by heat, a brake or a fault (not by the power cap alone)."""
    if state.gpu is None:
        return np.zeros(len(state.dt), dtype=bool)
    held = (state.gpu.throttle_bits > 0) & ((state.gpu.throttle_bits & HARD_THROTTLE) != 0)
    low = state.gpu.sm_clock_hz < level("clock_low") * state.gpu.max_clock_hz
    return _positive(held & low & (state.running_end > 0))


# NVML clock event reasons: HW slowdown, SW thermal, HW thermal, HW power brake. The power cap (0x4) is normal at full load.
HARD_THROTTLE = 0x8 | 0x20 | 0x40 | 0x80


def _refusals(state: EngineState, bound: float) -> Bools:
    refused = np.nan_to_num(state.rejections) + np.nan_to_num(state.http_errors)
    if state.client is not None:
        refused = refused + np.nan_to_num(state.client.errors)
    answered = np.nan_to_num(state.finished) + refused
    share = refused.sum() / answered.sum() if answered.sum() > 0 else 0.0
    return refused > 0 if share > bound else np.zeros(len(refused), dtype=bool)


def _positive(condition: Bools) -> Bools:
    return np.asarray(condition, dtype=bool)

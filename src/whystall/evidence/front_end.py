"""Time to first token that is spent before the engine sees a request."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState, HistogramDelta

from .queueing import queue_delay
from .smoothing import around, cumulative, smooth_mean, window_edges
from .standstill import near_standstill
from .thresholds import level

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def front_residual(state: EngineState) -> Floats:
    """Seconds of TTFT that are neither queue, prefill nor the running step; NaN where a queue makes the moments differ.

    TTFT is observed at the first token, queue and prefill at the finish, so the two speak of different requests at any
    moment. Two pairings bracket the truth: by time (right while nothing changes) and by order (right while requests
    finish in the order of their first tokens). The smaller residual counts, and only intervals without a queue and
    away from standstills: who comes during one waits outside the engine's view. Those who waited in a queue get their first
    tokens for some seconds after it.
    """
    delay = queue_delay(state)
    calm = (delay < level("felt_wait") / 4) & ~near_standstill(state)
    seen = around(state, state.ttft.count)
    enough = seen >= level("front_requests")
    ttft = smooth_mean(state, state.ttft.sum, state.ttft.count)
    beyond = np.where(
        seen >= _FEW, _fastest(state, state.ttft) - _longest(state.queue) - _longest(state.prefill), np.nan
    )
    parts = smooth_mean(state, state.queue.sum, state.queue.count)
    parts = parts + smooth_mean(state, state.prefill.sum, state.prefill.count) * _slower_since(state)
    smaller = np.fmin(ttft - parts, _residual_by_order(state))
    smaller = np.where(
        enough, np.fmin(smaller, _residual_of_most(state, parts)), np.fmax(beyond, _residual_of_few(state))
    )
    waits = np.fmax(step_wait(state), _step_wait_together(state))
    return np.where(calm, smaller - waits - _longest_around(state, delay), np.nan)


def _residual_of_few(state: EngineState) -> Floats:
    """That of servers with some requests a minute, over half a minute around each interval; NaN where even these are few.

    The interval's own requests must be as late: a loss must not seem to begin before it does.
    """
    far = level("settle_min")  # what was further off says nothing of now
    parts = smooth_mean(state, state.queue.sum, state.queue.count, far)
    parts = parts + smooth_mean(state, state.prefill.sum, state.prefill.count, far)
    own = smooth_mean(state, state.ttft.sum, state.ttft.count)
    ttft = np.minimum(own, smooth_mean(state, state.ttft.sum, state.ttft.count, far))
    seen = around(state, state.ttft.count, far)
    with np.errstate(invalid="ignore", divide="ignore"):
        doubt = _SIGMAS * np.sqrt(_variance(state, state.ttft, far) / seen)
    return np.where(seen >= level("front_requests"), ttft - doubt - parts * _slower_since(state), np.nan)


_SIGMAS = 2.0  # 95%


def _variance(state: EngineState, histogram: HistogramDelta, seconds: float) -> Floats:
    """Of the observations around each interval, by the middles of their buckets; NaN where there are none."""
    if not len(histogram.bounds):
        return np.full(len(state.dt), np.nan)
    edges = np.concatenate(([0.0], histogram.bounds, [2 * histogram.bounds[-1]]))
    middle, counts = (edges[1:] + edges[:-1]) / 2, around(state, histogram.counts, seconds)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, square = counts @ middle / counts.sum(axis=1), counts @ middle**2 / counts.sum(axis=1)
    return np.asarray(square - mean**2).clip(min=0)


def _slower_since(state: EngineState) -> Floats:
    """Times that tokens take now against when the requests that finish now had their prefill, by interval; at least 1.

    Who comes while steps become longer has a longer prefill than the histogram tells, which speaks of those before.
    """
    itl = smooth_mean(state, state.itl.sum, state.itl.count)
    lived = np.nan_to_num(smooth_mean(state, state.e2e.sum, state.e2e.count))
    seen = np.isfinite(itl)
    if not seen.any():
        return np.ones(len(state.dt))
    then = np.interp(state.t_end - lived, state.t_end[seen], itl[seen])
    return np.asarray(np.fmax(itl / np.maximum(then, 1e-9), 1.0))


def _longest_around(state: EngineState, delay: Floats) -> Floats:
    """The longest wait in the queue among the intervals that means are taken over: its first tokens come after it."""
    seen = np.nan_to_num(delay, posinf=0.0)
    return np.array([seen[a:b].max(initial=0.0) for a, b in zip(*window_edges(state), strict=True)])


_FEW = 3  # requests the fastest TTFT of which is compared with the longest queue and prefill of the whole window


def _fastest(state: EngineState, histogram: HistogramDelta) -> Floats:
    """The lower edge of the first bucket that a request around each interval fell into: a slow front end slows them all."""
    if not len(histogram.bounds):
        return np.zeros(len(state.dt))
    first = np.argmax(_buckets_around(state, histogram) > 0, axis=1)
    return np.asarray(np.concatenate(([0.0], histogram.bounds))[first])


def _buckets_around(state: EngineState, histogram: HistogramDelta) -> Floats:
    """Observations by bucket over some seconds around each interval, ``[interval, bucket]``."""
    return around(state, histogram.counts)


def _longest(histogram: HistogramDelta) -> float:
    """The upper edge of the last bucket that any request of the window fell into; infinite where too few have finished."""
    counts = np.nan_to_num(histogram.counts).sum(axis=0)
    if counts.sum() < level("front_requests"):
        return float("inf")
    edges = np.concatenate((histogram.bounds, [np.inf]))
    return float(edges[np.flatnonzero(counts)[-1]])


def _residual_of_most(state: EngineState, parts: Floats) -> Floats:
    """The upper edge of the median TTFT's bucket less the mean queue and prefill, by interval.

    A slow front end slows all requests. Where a few waited for something else (a first kernel to compile), the mean is far
    above what most saw. Infinite where the histogram has no such edge.
    """
    if not len(state.ttft.bounds):
        return np.full(len(state.dt), np.inf)
    counts = _buckets_around(state, state.ttft)
    below = np.cumsum(counts, axis=1)
    edges = np.concatenate((state.ttft.bounds, [np.inf]))
    return np.asarray(edges[np.argmax(2 * below >= below[:, -1:], axis=1)] - parts)


def step_wait(state: EngineState) -> Floats:
    """Mean wait of an arrival for the end of the running step, by interval: E[s^2] / 2 E[s] of the step times s.

    The engine takes in new requests between steps, and only then counts them as queued, so this wait is part of TTFT and
    of no histogram. Inter-token latencies are the step times that decoding requests saw. NaN where no token came.
    """
    if not len(state.itl.bounds):
        return np.zeros(len(state.dt))
    lower = np.concatenate(([0.0], state.itl.bounds))
    middle = (lower + np.concatenate((state.itl.bounds, [2 * state.itl.bounds[-1]]))) / 2
    counts = np.nan_to_num(state.itl.counts)
    squares, sums = around(state, counts @ middle**2), around(state, counts @ middle)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(sums > 0, squares / (2 * sums), np.nan)


_SEEN = 5  # intervals that tell a variance at all


def _step_wait_together(state: EngineState) -> Floats:
    """Seconds of the steps that first tokens came out of, by interval, where requests came together; 0 where by chance.

    A crowd comes at the begin of the long steps that it makes, and not at a moment that has nothing to do with them: who
    is not taken into the first one waits for all of it.
    """
    if not len(state.dt):
        return np.zeros(0)
    first = np.nan_to_num(state.ttft.count)
    with np.errstate(invalid="ignore", divide="ignore"):
        step = np.where(state.steps >= 1, state.dt / state.steps, 0.0)
        step = np.where(step > level("felt_wait"), step, 0.0)  # shorter ones are the means' matter
        waited = around(state, first * step) / around(state, first)
    return np.where(_come_together(state), np.nan_to_num(waited), 0.0)


def _come_together(state: EngineState) -> Bools:
    """Where first tokens come in bunches: their counts change from one interval to the next by more than chance.

    Nowhere where scrapes are too far apart to see it.
    """
    first = np.nan_to_num(state.ttft.count)
    number = around(state, np.ones(len(first)))
    steps = np.diff(first, prepend=first[:1]) ** 2 / 2  # for independent counts their mean is the variance
    return np.asarray((number >= _SEEN) & (around(state, steps) > level("bursty") * around(state, first)), dtype=bool)


def _residual_by_order(state: EngineState) -> Floats:
    """TTFT of the requests around each interval less queue and prefill of the same ones, matched by their number.

    The k-th finish of the window is the (k - running at the start)-th first token. NaN where they have not finished yet.
    """
    if not len(state.dt):
        return np.zeros(0)
    first, ttft = cumulative(state.ttft.count), cumulative(state.ttft.sum)
    done, parts = cumulative(state.queue.count), cumulative(state.queue.sum) + cumulative(state.prefill.sum)
    held = float(np.nan_to_num(state.running_start[0]))
    a, b = window_edges(state)
    begin, end = first[a] + held, first[b] + held
    spent = np.interp(end, done, parts) - np.interp(begin, done, parts)
    with np.errstate(invalid="ignore", divide="ignore"):
        residual = (ttft[b] - ttft[a] - spent) / (end - begin)
    return np.where((end > begin) & (end <= done[-1]), residual, np.nan)

"""Histogram deltas: means, quantiles with the bucket's interval, and shares above a level."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import HistogramDelta

Floats = NDArray[np.float64]


def empty_histogram(intervals: int) -> HistogramDelta:
    """A histogram of which nothing was seen."""
    nothing = np.full(intervals, np.nan)
    return HistogramDelta(bounds=np.zeros(0), counts=np.full((intervals, 1), np.nan), sum=nothing, count=nothing)


def mean_of(histogram: HistogramDelta, where: NDArray[np.bool_] | None = None) -> float:
    """Mean observation over the chosen intervals, NaN where there was none."""
    total, count = _totals(histogram, where)
    return total / count if count > 0 else float("nan")


def count_of(histogram: HistogramDelta, where: NDArray[np.bool_] | None = None) -> float:
    return _totals(histogram, where)[1]


def means(histogram: HistogramDelta) -> Floats:
    """Mean observation of each interval, NaN where there was none."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(histogram.count > 0, histogram.sum / histogram.count, np.nan)


def bucket_counts(histogram: HistogramDelta, where: NDArray[np.bool_] | None = None) -> Floats:
    """Observations by bucket over the chosen intervals, shape ``[len(bounds) + 1]``."""
    rows = histogram.counts if where is None else histogram.counts[where]
    return np.asarray(np.nansum(rows, axis=0)) if len(rows) else np.zeros(histogram.counts.shape[1])


def quantile_of(
    histogram: HistogramDelta, q: float, where: NDArray[np.bool_] | None = None
) -> tuple[float, float, float]:
    """The ``q`` quantile as (estimate, low, high): linear inside the bucket, whose bounds are the interval.

    In the last bucket there is no upper bound: the estimate is its lower one and ``high`` is infinite.
    All NaN where there was no observation.
    """
    counts = bucket_counts(histogram, where)
    total = counts.sum()
    if not total > 0 or not len(histogram.bounds):
        return (float("nan"),) * 3
    target = q * total
    cumulative = np.cumsum(counts)
    j = int(np.searchsorted(cumulative, target, side="left"))
    j = min(j, len(counts) - 1)
    low = float(histogram.bounds[j - 1]) if j > 0 else 0.0
    if j >= len(histogram.bounds):
        return low, low, float("inf")
    high = float(histogram.bounds[j])
    before = float(cumulative[j - 1]) if j > 0 else 0.0
    inside = (target - before) / counts[j] if counts[j] > 0 else 1.0
    return low + (high - low) * float(np.clip(inside, 0, 1)), low, high


def count_above(histogram: HistogramDelta, level: float, where: NDArray[np.bool_] | None = None) -> float:
    """Observations certainly above ``level``: those in buckets whose lower bound is at least it."""
    counts = bucket_counts(histogram, where)
    lower = np.concatenate(([0.0], histogram.bounds))[: len(counts)]
    return float(counts[lower >= level].sum())


def _totals(histogram: HistogramDelta, where: NDArray[np.bool_] | None) -> tuple[float, float]:
    seen = np.isfinite(histogram.sum) & np.isfinite(histogram.count)
    at = seen if where is None else seen & where
    return float(histogram.sum[at].sum()), float(histogram.count[at].sum())

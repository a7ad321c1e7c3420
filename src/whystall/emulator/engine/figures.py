"""What a window of an emulated run comes to: the figures that a what-if compares."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from .engine import Engine

Floats = NDArray[np.float64]
_NAN = float("nan")


class RunFigures(msgspec.Struct, frozen=True):
    """Latencies in seconds (NaN where nothing was seen), rates a second, ratios 0 to 1, over a window of the run."""

    ttft_mean_s: float
    ttft_p50_s: float
    ttft_p95_s: float
    ttft_p99_s: float
    itl_mean_s: float
    itl_p95_s: float
    itl_p99_s: float
    e2e_p95_s: float
    queue_mean_s: float
    tokens_per_s: float
    finished_per_s: float
    preemptions_per_s: float
    rejected_per_s: float
    running_mean: float
    waiting_mean: float
    kv_usage_mean: float
    kv_usage_max: float


def figures_of(engine: Engine, start: float = 0.0, stop: float | None = None) -> RunFigures:
    """The figures of ``engine``'s results in (start, stop]; ``stop`` None is up to now."""
    journal = engine.journal
    stop = engine.now if stop is None else stop
    seconds = max(stop - start, 1e-9)
    back = engine.clock.profile.back_s
    ttft = np.asarray([r.first_token - r.arrival + back for r in journal.first if start < r.first_token <= stop])
    ended = [r for r in journal.finished if start < r.finished <= stop]
    gaps, weights = journal.gaps(np.nextafter(start, np.inf), np.nextafter(stop, np.inf))
    end, gap = journal.columns("end"), journal.columns("gap")
    inside = (end > start) & (end <= stop)
    used = 1 - journal.columns("free_blocks")[inside] / max(engine.options.num_gpu_blocks - 1, 1)
    return RunFigures(
        ttft_mean_s=_mean(ttft),
        ttft_p50_s=weighted_quantile(ttft, np.ones(len(ttft)), 0.5),
        ttft_p95_s=weighted_quantile(ttft, np.ones(len(ttft)), 0.95),
        ttft_p99_s=weighted_quantile(ttft, np.ones(len(ttft)), 0.99),
        itl_mean_s=_mean(gaps, weights),
        itl_p95_s=weighted_quantile(gaps, weights, 0.95),
        itl_p99_s=weighted_quantile(gaps, weights, 0.99),
        e2e_p95_s=weighted_quantile(np.asarray([r.finished - r.arrival for r in ended]), np.ones(len(ended)), 0.95),
        queue_mean_s=_mean(np.asarray([r.scheduled - r.queued for r in ended])),
        tokens_per_s=float(journal.columns("generated")[inside].sum()) / seconds,
        finished_per_s=len(ended) / seconds,
        preemptions_per_s=_count(journal.preemptions, start, stop) / seconds,
        rejected_per_s=_count(journal.rejected, start, stop) / seconds,
        running_mean=_mean(journal.columns("running")[inside], gap[inside]),
        waiting_mean=_mean(journal.columns("waiting")[inside], gap[inside]),
        kv_usage_mean=_mean(used, gap[inside]),
        kv_usage_max=float(used.max(initial=0.0)),
    )


def weighted_quantile(values: Floats, weights: Floats, q: float) -> float:
    """The smallest value below which at least ``q`` of the weight lies; NaN without values."""
    if not len(values):
        return _NAN
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, q * reached[-1]))
    return float(values[order][min(place, len(values) - 1)])


def _mean(values: Floats, weights: Floats | None = None) -> float:
    if not len(values) or (weights is not None and not weights.sum()):
        return _NAN
    return float(np.average(values, weights=weights))


def _count(times: list[float], start: float, stop: float) -> int:
    return sum(1 for t in times if start < t <= stop)

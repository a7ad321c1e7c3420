"""Which classes of lengths came more or less often than before: a table for the reader, from histogram deltas."""

from __future__ import annotations

import math

import numpy as np

from whystall.model.engine_state import HistogramDelta
from whystall.model.load import Cohort, Length
from whystall.state.histograms import bucket_counts

from .scene import Scene

MOST = 4  # cohorts of a length
LEAST_CHANGE = 0.05  # of all requests
SIGMAS = 3.0  # shares of some hundred requests wander by less


def cohorts(scene: Scene) -> tuple[Cohort, ...]:
    """Cohorts whose share of the requests changed between the healthy past and the incident, the largest change first."""
    if not (scene.focus.hurts and scene.before.any()):
        return ()
    state = scene.state
    prompts = _changed(scene, "prompt", state.prompt_length)
    return (*prompts, *_changed(scene, "output", state.output_length))


def _changed(scene: Scene, length: Length, histogram: HistogramDelta) -> list[Cohort]:
    if not len(histogram.bounds):
        return []
    before, now = bucket_counts(histogram, scene.before), bucket_counts(histogram, scene.inside)
    if not (before.sum() > 0 and now.sum() > 0):
        return []
    seconds = float(scene.state.dt[scene.before].sum()), max(scene.seconds, 1e-9)
    edges = [0.0, *map(float, histogram.bounds), None]
    found = [
        Cohort(
            length,
            edges[at] or 0.0,
            edges[at + 1],
            float(before[at] / before.sum()),
            float(now[at] / now.sum()),
            float(before[at] / seconds[0]),
            float(now[at] / seconds[1]),
        )
        for at in np.flatnonzero((before > 0) | (now > 0))
    ]
    kept = [one for one in found if _sure(one, float(before.sum()), float(now.sum()))]
    return sorted(kept, key=lambda one: -abs(one.now_ratio - one.before_ratio))[:MOST]


def _sure(cohort: Cohort, before: float, now: float) -> bool:
    """Two shares of ``before`` and ``now`` requests differ by more than chance (pooled two-sample test of proportions)."""
    change = abs(cohort.now_ratio - cohort.before_ratio)
    pooled = (cohort.before_ratio * before + cohort.now_ratio * now) / (before + now)
    spread = math.sqrt(max(pooled * (1 - pooled), 1e-9) * (1 / before + 1 / now))
    return change >= LEAST_CHANGE and change >= SIGMAS * spread

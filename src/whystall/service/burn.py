"""How fast a promise is used up: over five minutes and over an hour, as the SRE workbook does (chapter 5).

The burn rate is the share of bad requests over the share that the promise allows: 5% for a p95, the bound itself for
errors. Both windows must burn before anybody is woken: the short one says that it goes on, the long one that it matters.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from whystall.model.incident import Burn
from whystall.model.slo import Slo

from .figures import Figures, increase

SHORT_S, LONG_S = 300.0, 3600.0
STEP_S = 10.0  # between the points that are kept
LEAST_REQUESTS = 20.0  # fewer say nothing of one in twenty
_ALLOWED_OF_P95 = 0.05
_HISTOGRAMS = {"ttft_p95": "ttft", "itl_p95": "itl", "e2e_p95": "e2e"}


class _Point(NamedTuple):
    t: float
    bad: float
    all: float


class BurnRate:
    """One promise of one engine, counted on from page to page, over restarts too."""

    def __init__(self, promise: str, bound: float) -> None:
        self.promise = promise
        self._bound = bound
        self._before: tuple[float, float] | None = None
        self._points: deque[_Point] = deque([_Point(-math.inf, 0.0, 0.0)])
        self._bad = self._all = 0.0

    def add(self, figures: Figures) -> None:
        """Take a page in; the pages come in order of time."""
        counted = self._counted(figures)
        if counted is None:
            return
        if self._before is not None:
            self._bad += _finite(increase(self._before[0], counted[0]))
            self._all += _finite(increase(self._before[1], counted[1]))
        self._before = counted
        if figures.t - self._points[-1].t >= STEP_S:
            self._points.append(_Point(figures.t, self._bad, self._all))
        while len(self._points) > 2 and self._points[1].t < figures.t - LONG_S:
            self._points.popleft()

    def rates(self, at: float) -> Burn:
        """The burn rates up to ``at``."""
        return Burn(self.promise, self._rate(at - SHORT_S), self._rate(at - LONG_S))

    def _rate(self, start: float) -> float | None:
        first = next((point for point in self._points if point.t >= start), self._points[-1])
        seen = self._all - first.all
        if seen < LEAST_REQUESTS:
            return None
        allowed = self._bound if self.promise == "errors" else _ALLOWED_OF_P95
        return (self._bad - first.bad) / seen / max(allowed, 1e-6)

    def _counted(self, figures: Figures) -> tuple[float, float] | None:
        """Bad ones and all, since the server's start."""
        if self.promise == "errors":
            bad = _finite(figures.errors) + _finite(figures.rejections)
            return (bad, figures.answers) if math.isfinite(figures.answers) else None
        name = _HISTOGRAMS[self.promise]
        total = figures.counts.get(name, math.nan)
        edges, below = figures.buckets.get(name, (np.zeros(0), np.zeros(0)))
        if not len(edges) or not math.isfinite(total):
            return None
        return total - float(np.interp(self._bound, edges, below, left=0.0)), total


def burn_rates(slo: Slo | None) -> tuple[BurnRate, ...]:
    """One for each part that was promised."""
    if slo is None:
        return ()
    bounds = {
        "ttft_p95": slo.ttft_p95_s,
        "itl_p95": slo.itl_p95_s,
        "e2e_p95": slo.e2e_p95_s,
        "errors": slo.errors_ratio,
    }
    return tuple(BurnRate(promise, bound) for promise, bound in bounds.items() if bound is not None)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0

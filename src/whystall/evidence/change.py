"""When a ratio of two increases changed: change points for the onset of a cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whystall.model.diagnosis import Onset

if TYPE_CHECKING:  # a scene is made with the change points of its steps
    from .scene import Scene

Floats = NDArray[np.float64]

# 2.7/2 nats under the best split bounds a 90% interval (chi-square with one degree of freedom, method.md 2.2).
_NATS = 1.35
_AROUND_S = 300.0  # the onset is looked for within five minutes of the incident's start (method.md 2.2)
_DEGREES = 4.0  # Student t: a single odd interval moves nothing


def onset_of(scene: Scene, over: Floats, under: Floats) -> Onset | None:
    """Onset of a shift of ``over / under`` near the start of the incident; None where nothing can be split."""
    state = scene.state
    start = float(state.t_start[np.argmax(scene.inside)])
    near = (state.t_end > start - _AROUND_S) & (state.t_start < start + _AROUND_S)
    at = np.flatnonzero((scene.before | scene.inside) & near)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(under[at] > 0, over[at] / under[at], np.nan)
    seen = np.isfinite(values)
    index, values = at[seen], values[seen]
    split = change_point(values)
    if split is None:
        return None
    best, low, high = split
    edges = state.t_start[index]
    ends = state.t_end[index]
    return Onset(float(edges[best]), float(edges[max(low - 1, 0)]), float(ends[high]))


def change_point(values: Floats) -> tuple[int, int, int] | None:
    """(best, low, high) first index of the second segment, by the two-segment Student-t likelihood.

    Each segment has its own median and its own scale; at least two values on each side. The interval holds the splits
    whose likelihood lies within ``_NATS`` of the best. None for fewer than four values.
    """
    n = len(values)
    if n < 4:
        return None
    scores = np.full(n, -np.inf)
    for k in range(2, n - 1):
        scores[k] = _likelihood(values[:k]) + _likelihood(values[k:])
    best = int(np.argmax(scores))
    near = np.flatnonzero(scores >= scores[best] - _NATS)
    return best, int(near.min()), int(near.max())


def _likelihood(segment: Floats) -> float:
    """Student-t log likelihood of one segment around its median with its own scale, constants dropped."""
    centre = np.median(segment)
    scale = max(1.4826 * float(np.median(np.abs(segment - centre))), 0.02 * abs(float(centre)), 1e-9)
    z = (segment - centre) / scale
    return float(-len(segment) * np.log(scale) - (_DEGREES + 1) / 2 * np.log1p(z * z / _DEGREES).sum())

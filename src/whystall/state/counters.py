"""Increases of counters between scrapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def increases(values: Floats) -> Floats:
    """Increase of each counter over each interval: ``[..., n]`` values at the scrapes give ``[..., n - 1]``.

    NaN where either scrape lacks the series, and where the counter went down: a reset says nothing of how far it had
    come before, so the interval is unknown rather than the value after it.
    """
    steps = np.diff(values, axis=-1)
    return np.where(steps < 0, np.nan, steps)


def went_down(values: Floats) -> NDArray[np.bool_]:
    """Where any of the counters ``[k, n]`` decreased: a bool for each of the ``n - 1`` intervals."""
    if not len(values):
        return np.zeros(max(values.shape[-1] - 1, 0), dtype=bool)
    with np.errstate(invalid="ignore"):
        return np.asarray((np.diff(values, axis=-1) < 0).any(axis=0))

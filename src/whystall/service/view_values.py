"""Numbers as JSON has them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from whystall.model.fleet import Values


def values(found: Iterable[float]) -> Values:
    """Four significant digits, None for what was not seen."""
    return tuple(float(f"{value:.4g}") if math.isfinite(value) else None for value in found)

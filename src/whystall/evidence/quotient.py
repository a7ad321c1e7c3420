"""A quotient of two measured figures, of which the lower one may be zero."""

from __future__ import annotations

import math


def quotient(over: float, under: float) -> float:
    """``over / under``; NaN where ``under`` is zero, negative or unknown: such a figure says nothing."""
    return over / under if under > 0 else math.nan

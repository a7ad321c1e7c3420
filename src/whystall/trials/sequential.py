"""An interval for a mean that stays valid however often one looks, and what it says of the time that is left.

The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (arXiv 2103.06476): the running
mean of n values plus and minus s sqrt(2 (n r^2 + 1) / (n^2 r^2) log(sqrt(n r^2 + 1) / alpha)), narrowest for its level
about n = ``TUNED_FOR``. It holds for many values; for few, the sample's own standard deviation s is too small too
often, so that the width is multiplied by how much wider Student's t is than the normal distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

TUNED_FOR = 10  # pairs: a change of 10 to 20% is mostly decided about there (method.md section 3)
_NORMAL = NormalDist()


class Interval(NamedTuple):
    """The mean of ``n`` values and its always-valid bounds; infinite where there are too few values."""

    low: float
    mid: float
    high: float
    n: int

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.mid, -self.low, self.n)


@lru_cache(maxsize=64)
def mixture(alpha: float, tuned_for: int = TUNED_FOR) -> float:
    """The r for which the sequence is about narrowest at ``tuned_for`` values (their equation 10)."""
    two_logs = -2 * math.log(alpha)
    return math.sqrt((two_logs + math.log(two_logs + 1)) / tuned_for)


@lru_cache(maxsize=4096)
def half_width(n: int, alpha: float, tuned_for: int = TUNED_FOR) -> float:
    """Half the interval after ``n`` values, in their standard deviations; infinite below two values."""
    if n < 2:
        return math.inf
    r2 = mixture(alpha, tuned_for) ** 2
    grown = n * r2 + 1
    width = math.sqrt(2 * grown / (n * n * r2) * math.log(math.sqrt(grown) / alpha))
    return width * student_quantile(1 - alpha / 2, n - 1) / _NORMAL.inv_cdf(1 - alpha / 2)


def confidence_sequence(values: Sequence[float], alpha: float, least: int, tuned_for: int = TUNED_FOR) -> Interval:
    """The mean of ``values``, with bounds that hold at level 1 - ``alpha`` at every n from ``least`` on at once."""
    n = len(values)
    mid = fmean(values) if n else math.nan
    if n < max(least, 2):
        return Interval(-math.inf, mid, math.inf, n)
    half = stdev(values) * half_width(n, alpha, tuned_for)
    return Interval(mid - half, mid, mid + half, n)


def probability_of_gain(values: Sequence[float], alpha: float, least_gain: float, total: int) -> float:
    """The chance that, after ``total`` values, the bounds exclude 0 and the mean is at least ``least_gain``.

    Gains are positive. The final mean given the first n values is Student-t around theirs, with a variance of
    s^2 (1/n - 1/total): what the values to come add. They are taken to spread as those so far.
    """
    n = len(values)
    if n < 2:
        return 1.0
    spread, mid = stdev(values), fmean(values)
    needed = max(least_gain, spread * half_width(max(total, n), alpha))
    scale = spread * math.sqrt(max(1 / n - 1 / max(total, n), 0.0))
    if scale <= 1e-12:
        return 1.0 if mid >= needed else 0.0
    return 1 - student_cdf((needed - mid) / scale, n - 1)


def student_cdf(t: float, freedom: int) -> float:
    """Student's distribution function for whole degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine2 = math.cos(angle) ** 2
    odd = freedom % 2 == 1
    term = math.cos(angle) if odd else 1.0
    total = term if freedom > 1 or not odd else 0.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine2 * (k - 1) / k
        total += term
    within = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return 0.5 + within / 2


@lru_cache(maxsize=4096)
def student_quantile(p: float, freedom: int) -> float:
    """The value that Student's t stays below with probability ``p``; by bisection, ``p`` from 0.5 on."""
    if freedom > 500:  # the first correction of the normal quantile is exact to 1 in 10,000 there
        z = _NORMAL.inv_cdf(p)
        return z + (z**3 + z) / (4 * freedom)
    low, high = 0.0, 1.0
    while student_cdf(high, freedom) < p:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, freedom) < p else (low, middle)
    return (low + high) / 2

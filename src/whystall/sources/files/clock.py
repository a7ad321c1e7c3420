"""Times that a collector's clock stepped back between, made to rise again.

A step back would turn counters over time into negative or endless rates. Rows stay in the order in which they were
written, which is the order in which they happened; every time after a step is moved forward by as much as the clock
went back, plus the file's usual interval. So rates on each side of the step are exact; the one across it is off by at
most what the interval varies. A single time far from both its neighbours, which agree, is put between them.
"""

from __future__ import annotations

import numpy as np

from whystall.model.recording import Floats

_FAR = 10.0  # usual intervals: a gap of lost scrapes may be long, but then the next time does not come back


def risen(times: Floats) -> tuple[Floats, int]:
    """Times that never fall, and how many steps were taken out. Equal times, as GPUs of one sample have, stay."""
    if not (np.diff(times) < 0).any():
        return times, 0
    forward = np.diff(times)[np.diff(times) > 0]
    usual = float(np.median(forward)) if len(forward) else 1.0
    times, strays = _between_neighbours(times, usual)
    steps = np.diff(times)
    back = steps < 0
    shift = np.cumsum(np.where(back, usual - steps, 0.0))
    moved = times.copy()
    moved[1:] += shift
    return moved, int(np.count_nonzero(back)) + strays


def _between_neighbours(times: Floats, usual: float) -> tuple[Floats, int]:
    before, here, after = times[:-2], times[1:-1], times[2:]
    agree = (after >= before) & (after - before < _FAR * usual)
    stray = agree & (np.abs(here - before) > _FAR * usual)
    stray[1:] &= ~stray[:-1]  # of two in a row only the first has neighbours to trust
    placed = times.copy()
    placed[1:-1][stray] = (before + after)[stray] / 2
    return placed, int(np.count_nonzero(stray))

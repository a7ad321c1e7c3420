"""Times that a collector's clock stepped back between, made to rise again.

A step back would turn counters over time into negative or endless rates. Rows stay in the order in which they were
written, which is the order in which they happened; every time after a step is moved forward by as much as the clock
went back, plus the file's usual interval. So rates on each side of the step are exact; the one across it is off by at
most what the interval varies.
"""

from __future__ import annotations

import numpy as np

from whystall.model.recording import Floats


def risen(times: Floats) -> tuple[Floats, int]:
    """Times that never fall, and how many steps back were taken out. Equal times, as GPUs of one sample have, stay."""
    steps = np.diff(times)
    back = steps < 0
    if not back.any():
        return times, 0
    forward = steps[steps > 0]
    usual = float(np.median(forward)) if len(forward) else 1.0
    shift = np.cumsum(np.where(back, usual - steps, 0.0))
    moved = times.copy()
    moved[1:] += shift
    return moved, int(np.count_nonzero(back))

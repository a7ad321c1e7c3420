"""Times after a clock that stepped back."""

import numpy as np

from whystall.sources.files.clock import risen


def test_risen_leaves_rising_times_alone():
    times = np.array([1.0, 1.0, 2.0, 9.0])
    assert risen(times) == (times, 0)
    assert risen(np.zeros(0))[1] == 0
    moved, steps = risen(np.array([5.0, 4.0, 3.0]))
    assert (moved.tolist(), steps) == ([5, 6, 7], 2)

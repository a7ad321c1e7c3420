"""Times after a clock that stepped back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recorded_text import T0
from whystall.sources.files.clock import risen


def test_risen_leaves_rising_times_alone():
    times = np.array([1.0, 1.0, 2.0, 9.0])
    assert risen(times) == (times, 0)
    assert risen(np.zeros(0))[1] == 0
    moved, steps = risen(np.array([5.0, 4.0, 3.0]))
    assert (moved.tolist(), steps) == ([5, 6, 7], 2)


@pytest.mark.parametrize("stray", [9e9, 5.0, 3000.0])
def test_a_stray_time_is_put_between_its_neighbours(stray):
    times = T0 + np.arange(20.0)
    times[7] = stray
    moved, steps = risen(times)
    assert steps == 1
    assert moved.tolist() == (T0 + np.arange(20.0)).tolist()


def test_a_small_step_back_is_no_stray():
    moved, steps = risen(np.array([0.0, 1, 2, 1.5, 2.5, 3.5]))
    assert (moved.tolist(), steps) == ([0, 1, 2, 3, 4, 5], 1)


def test_a_gap_stays_a_gap():
    times = np.array([0.0, 1, 2, 500, 501, 502, 100, 101])
    moved, steps = risen(times)
    assert np.diff(moved).tolist() == [1, 1, 498, 1, 1, 1, 1]
    assert steps == 1


@given(st.lists(st.floats(0, 2e9), max_size=30))
def test_times_never_fall(times):
    moved, _ = risen(np.array(times))
    assert (np.diff(moved) >= 0).all()

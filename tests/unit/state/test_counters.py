import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from whystall.state.counters import increases, went_down

VALUES = arrays(float, st.tuples(st.integers(1, 4), st.integers(0, 12)), elements=st.floats(0, 1e6) | st.just(np.nan))


def test_a_reset_is_unknown_not_the_value_after_it():
    got = increases(np.array([1.0, 4.0, 2.0, 5.0]))
    np.testing.assert_array_equal(got, [3.0, np.nan, 3.0])


def test_a_missing_scrape_blanks_both_its_sides():
    np.testing.assert_array_equal(increases(np.array([1.0, np.nan, 3.0, 4.0])), [np.nan, np.nan, 1.0])


@given(VALUES)
def test_increases_are_never_negative_and_known_where_both_scrapes_are(values):
    got = increases(values)
    assert got.shape == (values.shape[0], max(values.shape[1] - 1, 0))
    assert not (got < 0).any()
    known = np.isfinite(values[:, 1:]) & np.isfinite(values[:, :-1])
    np.testing.assert_array_equal(np.isfinite(got), known & ~(values[:, 1:] < values[:, :-1]))


@given(arrays(float, st.integers(2, 30), elements=st.floats(0, 1e3)))
def test_without_a_reset_the_increases_add_up(steps):
    counter = np.cumsum(steps)
    assert np.isclose(increases(counter).sum(), counter[-1] - counter[0])


@given(VALUES)
def test_any_counter_that_falls_marks_the_interval(values):
    expected = [bool((np.diff(values, axis=1)[:, i] < 0).any()) for i in range(max(values.shape[1] - 1, 0))]
    assert went_down(values).tolist() == expected


def test_no_counter_no_reset():
    assert went_down(np.zeros((0, 5))).tolist() == [False] * 4
    assert went_down(np.zeros((0, 0))).tolist() == []


@given(arrays(float, st.integers(1, 30), elements=st.integers(0, 1000).map(float)), st.integers(0, 10**9))
def test_a_constant_added_to_a_counter_changes_nothing(steps, constant):
    counter = np.cumsum(steps)
    np.testing.assert_array_equal(increases(counter + constant), increases(counter))

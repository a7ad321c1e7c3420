import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.engine_state import HistogramDelta
from whystall.state.histograms import bucket_counts, count_above, count_of, empty_histogram, mean_of, means, quantile_of

BOUNDS = np.array([0.1, 0.5, 1.0, 5.0])


def histogram(*intervals: list[float]) -> HistogramDelta:
    """One interval a list of observations."""
    counts = [np.histogram(values, [0.0, *BOUNDS, np.inf])[0] for values in intervals]
    return HistogramDelta(
        bounds=BOUNDS,
        counts=np.array(counts, dtype=float),
        sum=np.array([sum(values) for values in intervals]),
        count=np.array([float(len(values)) for values in intervals]),
    )


def test_means() -> None:
    found = histogram([0.2, 0.4], [], [2.0])
    assert mean_of(found) == pytest.approx(2.6 / 3)
    assert mean_of(found, np.array([True, True, False])) == pytest.approx(0.3)
    assert means(found)[[0, 2]].tolist() == pytest.approx([0.3, 2.0])
    assert np.isnan(means(found)[1])
    assert count_of(found) == 3


def test_nothing_seen_is_not_zero() -> None:
    nothing = empty_histogram(3)
    assert np.isnan(mean_of(nothing))
    assert np.isnan(means(nothing)).all()
    assert all(np.isnan(value) for value in quantile_of(nothing, 0.5))
    assert np.isnan(mean_of(histogram([], [])))


def test_a_restart_leaves_its_interval_out() -> None:
    found = histogram([0.2], [9.0])
    cut = HistogramDelta(BOUNDS, found.counts, np.array([0.2, np.nan]), np.array([1.0, np.nan]))
    assert mean_of(cut) == pytest.approx(0.2)


@given(st.lists(st.floats(min_value=0.001, max_value=4.99), min_size=1, max_size=200), st.floats(0.01, 0.99))
def test_a_quantile_lies_in_its_bucket(values: list[float], q: float) -> None:
    """The true quantile (by rank) is inside the interval that is given with the estimate."""
    found, low, high = quantile_of(histogram(values), q)
    true = float(np.quantile(values, q, method="inverted_cdf"))
    assert low <= found <= high
    assert low - 1e-12 <= true <= high + 1e-12


def test_beyond_the_last_bound_only_the_lower_one_is_known() -> None:
    assert quantile_of(histogram([9.0, 9.0]), 0.5) == (5.0, 5.0, float("inf"))


def test_counts_above_a_level_are_certain() -> None:
    found = histogram([0.05, 0.3, 0.7, 3.0, 9.0])
    assert bucket_counts(found).tolist() == [1, 1, 1, 1, 1]
    assert count_above(found, 1.0) == 2
    assert count_above(found, 0.6) == 2  # the bucket from 0.5 to 1 may lie below 0.6
    assert count_above(found, 0.0) == 5

"""Histograms against the observations they were made of."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from states import histogram
from whystall.model.engine_state import HistogramDelta
from whystall.state.histograms import (
    bucket_counts,
    count_above,
    count_of,
    empty_histogram,
    mean_of,
    means,
    quantile_of,
)

BOUNDS = [0.01, 0.05, 0.1, 0.5, 1.0, 5.0]
# In hundredths, so that a sum is exact enough to compare.
OBSERVED = st.lists(st.lists(st.integers(1, 900).map(lambda n: n / 100), max_size=20), min_size=1, max_size=5)


@given(OBSERVED, st.sampled_from([0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0]))
def test_the_bucket_holds_the_true_quantile(observed, q):
    every = np.array([*chain.from_iterable(observed)])
    estimate, low, high = quantile_of(histogram(BOUNDS, observed), q)
    if not len(every):
        assert np.isnan([estimate, low, high]).all()
        return
    # The float target may fall a hair beside a rank: the quantiles on both sides of it are allowed.
    true = np.quantile(every, [max(q - 1e-9, 0), min(q + 1e-9, 1)], method="inverted_cdf")
    assert any(low <= value <= high for value in true)
    assert low <= estimate <= high


@given(OBSERVED)
def test_quantiles_rise_with_q(observed):
    made = histogram(BOUNDS, observed)
    got = [quantile_of(made, q)[0] for q in (0.1, 0.5, 0.9, 0.99)]
    assert np.isnan(got).all() or got == sorted(got)


@given(OBSERVED)
def test_means_and_counts_are_those_of_the_observations(observed):
    made = histogram(BOUNDS, observed)
    every = [*chain.from_iterable(observed)]
    assert count_of(made) == len(every)
    assert mean_of(made) == pytest.approx(np.mean(every)) if every else np.isnan(mean_of(made))
    for got, values in zip(means(made), observed, strict=True):
        assert got == pytest.approx(np.mean(values)) if values else np.isnan(got)


@given(OBSERVED, st.integers(0, 31))
def test_some_intervals_only(observed, chosen):
    where = np.array([bool(chosen >> i & 1) for i in range(len(observed))])
    part = histogram(BOUNDS, [values if at else [] for values, at in zip(observed, where, strict=True)])
    made = histogram(BOUNDS, observed)
    np.testing.assert_array_equal(bucket_counts(made, where), bucket_counts(part))
    np.testing.assert_array_equal(mean_of(made, where), mean_of(part))
    np.testing.assert_array_equal(quantile_of(made, 0.9, where), quantile_of(part, 0.9))


@given(OBSERVED, st.sampled_from([0.0, 0.05, 0.3, 1.0, 5.0, 9.0]))
def test_what_is_certainly_above_a_level_is_never_too_many(observed, level):
    every = np.array([*chain.from_iterable(observed)])
    certain = count_above(histogram(BOUNDS, observed), level)
    assert certain <= (every > level).sum()
    if level in BOUNDS:
        assert certain == (every > level).sum()


def test_beyond_the_last_bound_there_is_no_upper_one():
    assert quantile_of(histogram([1.0], [[7.0, 8.0]]), 0.5) == (1.0, 1.0, float("inf"))


def test_nothing_seen_is_not_a_number_and_not_zero():
    nothing = empty_histogram(3)
    assert np.isnan(mean_of(nothing))
    assert np.isnan(quantile_of(nothing, 0.5)).all()
    assert np.isnan(means(nothing)).all()
    assert count_of(nothing) == 0
    assert count_above(nothing, 0.1) == 0


def test_a_count_without_its_sum_has_no_mean():
    lost = HistogramDelta(np.array([1.0]), np.array([[2.0, 0.0]]), np.array([np.nan]), np.array([2.0]))
    assert np.isnan(mean_of(lost))


def test_an_interval_that_cannot_be_used_does_not_spoil_the_rest():
    made = histogram([1.0, 2.0], [[0.5], [1.5]])
    counts, sums, totals = made.counts.copy(), made.sum.copy(), made.count.copy()
    counts[0], sums[0], totals[0] = np.nan, np.nan, np.nan
    left = HistogramDelta(made.bounds, counts, sums, totals)
    assert mean_of(left) == 1.5
    assert quantile_of(left, 0.5)[1:] == (1.0, 2.0)

"""The sequence holds at every n at once, and Student's distribution is scipy's."""

import math
import random
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whystall.trials.sequential import (
    confidence_sequence,
    half_width,
    mixture,
    probability_of_gain,
    student_cdf,
    student_quantile,
)

VALUES = st.lists(st.floats(-2, 2), min_size=5, max_size=40)


@given(st.floats(-8, 8), st.integers(1, 120))
def test_student_cdf_is_scipys(t: float, freedom: int) -> None:
    assert student_cdf(t, freedom) == pytest.approx(stats.t.cdf(t, freedom), abs=1e-12)


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, 199, 200, 501, 1000])
@pytest.mark.parametrize("p", [0.6, 0.9, 0.975, 0.999])
def test_student_quantile_is_scipys(p: float, freedom: int) -> None:
    assert student_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=1e-4)


def test_the_mixture_is_narrowest_about_where_it_is_tuned() -> None:
    def width(n: int, tuned_for: int) -> float:
        r2 = mixture(0.05, tuned_for) ** 2
        return math.sqrt(2 * (n * r2 + 1) / (n * n * r2) * math.log(math.sqrt(n * r2 + 1) / 0.05))

    best = min(range(1, 60), key=lambda tuned: width(10, tuned))
    assert 8 <= best <= 12


@given(VALUES, st.floats(0.01, 0.2))
def test_the_interval_is_around_the_mean_and_narrower_for_less_confidence(values: list[float], alpha: float) -> None:
    found = confidence_sequence(values, alpha, 5)
    assert found.low <= found.mid <= found.high
    assert found.mid == pytest.approx(fmean(values))
    looser = confidence_sequence(values, alpha * 2, 5)
    assert looser.high - looser.low <= found.high - found.low + 1e-12


@given(VALUES, st.floats(-3, 3), st.floats(0.1, 10))
def test_the_interval_moves_and_grows_with_the_values(values: list[float], shift: float, factor: float) -> None:
    plain = confidence_sequence(values, 0.05, 5)
    moved = confidence_sequence([factor * v + shift for v in values], 0.05, 5)
    assert moved.low == pytest.approx(factor * plain.low + shift, abs=1e-6)
    assert moved.high == pytest.approx(factor * plain.high + shift, abs=1e-6)


def test_it_is_wider_than_a_single_look_and_shrinks() -> None:
    for n in range(5, 60):
        single = stats.t.ppf(0.975, n - 1) / math.sqrt(n)
        assert half_width(n, 0.05) > single
        assert half_width(n + 1, 0.05) < half_width(n, 0.05)


def test_too_few_values_bound_nothing() -> None:
    assert confidence_sequence([0.1] * 4, 0.05, 5)[:3:2] == (-math.inf, math.inf)
    assert confidence_sequence([], 0.05, 5).n == 0
    assert math.isinf(half_width(1, 0.05))


def test_looking_after_every_pair_is_wrong_in_one_run_in_twenty_at_most() -> None:
    draw = random.Random(5)
    wrong = 0
    for _ in range(400):
        values = [draw.gauss(0, 0.1) for _ in range(60)]
        looks = (confidence_sequence(values[:n], 0.05, 5) for n in range(5, 61))
        wrong += any(look.low > 0 or look.high < 0 for look in looks)
    assert wrong <= 30  # 400 runs at 5% give over 30 by chance once in 400 seeds


@given(VALUES, st.integers(40, 80))
def test_the_chance_of_a_gain_is_a_probability(values: list[float], total: int) -> None:
    assert 0 <= probability_of_gain(values, 0.05, 0.05, total) <= 1


def test_the_chance_of_a_gain_foresees_what_comes() -> None:
    good, bad = [0.3 + 0.01 * (-1) ** k for k in range(8)], [-0.3 + 0.01 * (-1) ** k for k in range(8)]
    assert probability_of_gain(good, 0.05, 0.05, 20) > 0.99
    assert probability_of_gain(bad, 0.05, 0.05, 20) < 0.01
    noisy = [0.06, -0.1, 0.2, -0.05, 0.15, -0.02]
    assert stdev(noisy) > 0.1
    assert 0.05 < probability_of_gain(noisy, 0.05, 0.05, 60) < 0.95
    assert probability_of_gain([0.2] * 5, 0.05, 0.05, 10) == 1.0
    assert probability_of_gain([0.0] * 5, 0.05, 0.05, 10) == 0.0

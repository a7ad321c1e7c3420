import math
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.causes.catalogue import catalogue
from whystall.causes.posterior import PAIR_PRIOR, log_odds, marginals
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

odds = st.dictionaries(st.sampled_from("abcdef"), st.floats(-8, 8), max_size=6)


@given(odds)
def test_equals_the_sum_over_all_sets(given_odds: dict[str, float]) -> None:
    sets = list(chain.from_iterable(combinations(given_odds, size) for size in range(3)))
    weight = {s: (PAIR_PRIOR if len(s) == 2 else 1.0) * math.exp(sum(given_odds[n] for n in s)) for s in sets}
    total = sum(weight.values())
    for name, probability in marginals(given_odds).items():
        assert probability == pytest.approx(sum(w for s, w in weight.items() if name in s) / total)


def test_two_certain_causes_are_both_certain() -> None:
    found = marginals({"a": 20.0, "b": 20.0, "c": -5.0})
    assert found["a"] == pytest.approx(1.0, abs=1e-6)
    assert found["b"] == pytest.approx(1.0, abs=1e-6)
    assert found["c"] < 1e-6


def test_large_odds_do_not_overflow() -> None:
    assert marginals({"a": 2000.0, "b": -2000.0}) == pytest.approx({"a": 1.0, "b": 0.0})


def test_evidence_that_was_not_seen_says_nothing() -> None:
    entry = next(iter(catalogue().values()))
    assert log_odds(entry, {}) == entry.bias
    name, weight = next(iter(entry.weights.items()))
    seen = {name: Evidence(name, 1.0, "", 1.5, Text("x"), "metrics")}
    assert log_odds(entry, seen) == pytest.approx(entry.bias + 1.5 * weight)

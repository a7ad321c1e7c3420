"""When slower tokens are a price, and how it is said."""

from __future__ import annotations

import math

import pytest

from whystall.model.trial import Effect
from whystall.trials.price import PAUSE_S, may_have_price, price_of, seems_sooner, sooner
from whystall.trials.sequential import Interval

HALF = Interval(0.6, 0.7, 0.8, 5)
WIDE = Interval(-0.01, 0.7, 1.4, 5)
SLOWER = Interval(-0.3, -0.1, 0.1, 5)
UNSEEN = Interval(-math.inf, math.nan, math.inf, 0)


@pytest.mark.parametrize(
    ("e2e", "seems", "shown"),
    [
        ([HALF, HALF], True, True),
        ([HALF, UNSEEN], True, True),
        ([WIDE, HALF], True, True),
        ([WIDE, WIDE], True, False),  # not shown
        ([HALF, SLOWER], False, False),  # the tail pays for it
        ([Interval(0.01, 0.02, 0.03, 5)], False, False),  # shown, and too little
        ([UNSEEN, UNSEEN], False, False),
    ],
)
def test_whole_requests_must_be_shown_to_end_sooner_by_what_counts(
    e2e: list[Interval], seems: bool, shown: bool
) -> None:
    assert seems_sooner(e2e) is seems
    assert sooner(e2e) is shown


def test_pauses_promises_and_other_metrics_have_no_price() -> None:
    assert may_have_price("itl_p95", 0.05, ())
    assert not may_have_price("itl_p95", PAUSE_S, ())
    assert not may_have_price("itl_p95", None, ())
    assert not may_have_price("itl_p95", 0.05, ("itl_p95",))
    assert not may_have_price("ttft_p95", 0.05, ())


def test_a_price_is_said_where_gaps_are_shown_to_have_grown() -> None:
    def effect(low: float | None) -> Effect:
        return Effect("itl_mean", "s", "relative", "lower", low, 0.4, 0.5, 5, 0.01, 0.014)

    said = price_of([effect(0.3)])
    assert said is not None
    assert said.en == "; price: mean ITL 10 to 14 ms"
    assert price_of([effect(0.01)]) is None
    assert price_of([effect(None)]) is None
    assert price_of([]) is None

"""When slower tokens are a price, and how it is said."""

from __future__ import annotations

import pytest

from whystall.model.trial import Effect
from whystall.trials.price import PAUSE_S, is_price, price_of, sooner
from whystall.trials.sequential import Interval

HALF = Interval(0.6, 0.7, 0.8, 5)


@pytest.mark.parametrize(
    ("e2e", "found"),
    [
        (HALF, True),
        (Interval(-0.01, 0.7, 1.4, 5), False),  # not shown
        (Interval(0.01, 0.02, 0.03, 5), False),  # shown, and too little
    ],
)
def test_whole_requests_must_be_shown_to_end_sooner_by_what_counts(e2e: Interval, found: bool) -> None:
    assert sooner(e2e) is found
    assert is_price("itl_p95", 0.05, e2e, ()) is found


def test_pauses_promises_and_other_metrics_have_no_price() -> None:
    assert not is_price("itl_p95", PAUSE_S, HALF, ())
    assert not is_price("itl_p95", None, HALF, ())
    assert not is_price("itl_p95", 0.05, HALF, ("itl_p95",))
    assert not is_price("ttft_p95", 0.05, HALF, ())


def test_a_price_is_said_where_gaps_are_shown_to_have_grown() -> None:
    def effect(low: float | None) -> Effect:
        return Effect("itl_mean", "s", "relative", "lower", low, 0.4, 0.5, 5, 0.01, 0.014)

    said = price_of([effect(0.3)])
    assert said is not None
    assert said.en == "; price: mean ITL 10 to 14 ms"
    assert price_of([effect(0.01)]) is None
    assert price_of([effect(None)]) is None
    assert price_of([]) is None

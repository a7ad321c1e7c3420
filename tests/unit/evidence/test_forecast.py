"""Where a trend leads, and that a level leads nowhere."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from states import blank
from whystall.evidence.forecast import forecast
from whystall.evidence.scene import Scene

SECONDS = 60


def found(kv=None, waiting=None):
    m = np.ones(SECONDS)
    flat = np.zeros(SECONDS)
    state = blank(m, kv_usage_end=flat if kv is None else kv, waiting_end=flat if waiting is None else waiting)
    return {e.id: e for e in forecast(Scene(state))}


def test_blocks_that_run_out_say_when() -> None:
    kv = 0.4 + 0.004 * np.arange(SECONDS)
    seen = found(kv)["forecast.kv"]
    assert seen.value == pytest.approx((1 - kv[-1]) / 0.004, rel=0.02)
    assert seen.strength >= 1
    assert seen.anomaly
    assert "run out in" in seen.text.en


def test_a_level_leads_nowhere() -> None:
    kv = 0.5 + 0.02 * np.sin(np.arange(SECONDS))
    assert "forecast.kv" not in found(kv)


def test_a_full_pool_needs_no_forecast() -> None:
    assert "forecast.kv" not in found(np.minimum(0.7 + 0.01 * np.arange(SECONDS), 0.99))


def test_a_growing_queue_says_when_it_doubles() -> None:
    seen = found(waiting=np.arange(SECONDS, dtype=float))["forecast.queue"]
    assert seen.value == pytest.approx(SECONDS - 1, rel=0.05)


def test_one_odd_scrape_moves_nothing() -> None:
    kv = 0.4 + 0.004 * np.arange(SECONDS)
    odd = kv.copy()
    odd[40] = 0.0
    assert found(odd)["forecast.kv"].value == pytest.approx(found(kv)["forecast.kv"].value, rel=0.05)


@given(st.lists(st.floats(0, 1), min_size=SECONDS, max_size=SECONDS))
def test_any_gauge_gets_a_bounded_forecast_or_none(values: list[float]) -> None:
    for evidence in found(np.array(values)).values():
        assert evidence.value is not None
        assert 0 < evidence.value <= 600

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenes import scene_of
from whystall.evidence.symptoms import (
    decode_itl,
    front_residual,
    keep_runs,
    queue_delay,
    runs,
    slow_tokens,
    smooth_rate,
    stalled,
    stepping_ratio,
    usual_itl,
)

flags = st.lists(st.booleans(), max_size=40).map(lambda values: np.array(values, dtype=bool))


@given(flags)
def test_runs_are_exactly_what_is_set(values: np.ndarray) -> None:
    again = np.zeros(len(values), dtype=bool)
    for start, stop in runs(values):
        assert values[start:stop].all()
        assert stop == len(values) or not values[stop]
        again[start:stop] = True
    assert (again == values).all()


@given(flags, st.floats(0.5, 5))
def test_short_runs_are_dropped(values: np.ndarray, least: float) -> None:
    kept = keep_runs(values, np.ones(len(values)), least)
    assert all(stop - start >= least for start, stop in runs(kept))
    assert not (kept & ~values).any()


def test_a_wait_by_littles_law() -> None:
    state = scene_of({"waiting": 20}).state
    assert np.nanmedian(queue_delay(state)) == pytest.approx(20 / 4)
    assert (queue_delay(scene_of({}).state) == 0).all()


def test_one_scrape_with_a_queue_is_a_step_in_progress() -> None:
    state = scene_of({"waiting": [0] * 10 + [5] + [0] * 9}).state
    assert np.nanmax(queue_delay(state)) == 0


def test_nobody_admitted_is_a_wait_without_end() -> None:
    state = scene_of({"waiting": 5, "rate": 0.0}).state
    assert np.isinf(queue_delay(state)).all()


def test_what_the_batch_itself_takes() -> None:
    state = scene_of({"rate": 0.1}).state
    assert decode_itl(state) == pytest.approx(0.010, rel=0.01)
    assert usual_itl(state, 0.025) == pytest.approx(0.010, rel=0.01)


def test_tokens_are_slow_where_it_is_felt_and_unusual() -> None:
    normal = {"seconds": 30, "rate": 0.1}
    slow = slow_tokens(scene_of(normal, {"seconds": 10, "itl_ms": 100}).state, 0.025)
    assert slow[30:].all()
    assert not slow[:30].any()
    assert not slow_tokens(scene_of(normal, {"seconds": 10, "itl_ms": 22}).state, 0.025).any()


@pytest.mark.parametrize(("front_s", "seen"), [(0.005, 0.0), (0.8, 0.8)])
def test_what_is_neither_queue_nor_prefill_is_the_front(front_s: float, seen: float) -> None:
    residual = front_residual(scene_of({"front_s": front_s}).state)
    assert np.nanmedian(residual) == pytest.approx(seen, abs=0.03)


def test_under_a_queue_the_front_is_not_judged() -> None:
    assert np.isnan(front_residual(scene_of({"waiting": 30, "queue_s": 6, "front_s": 0.8}).state)).all()


def test_a_standstill_is_in_flight_and_flat() -> None:
    stop = {"seconds": 6, "stopped": True}
    state = scene_of({}, stop, {}).state
    assert runs(stalled(state)) == [(20, 26)]
    assert not stalled(scene_of({}, {**stop, "running": 0}).state).any()  # idle
    assert not stalled(scene_of({}, {**stop, "seconds": 1}, {}).state).any()  # a long step


def test_steps_that_follow_each_other_fill_the_time() -> None:
    assert np.nanmedian(stepping_ratio(scene_of({}).state)) == pytest.approx(1.0, rel=0.01)
    assert np.nanmedian(stepping_ratio(scene_of({"steps": 20}).state)) == pytest.approx(0.2, rel=0.01)


def test_a_smooth_rate_is_the_rate() -> None:
    state = scene_of({}).state
    assert np.allclose(smooth_rate(state, state.first_tokens), 4.0)
    assert np.isnan(smooth_rate(state, np.full(20, np.nan))).all()

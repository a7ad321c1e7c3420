import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenes import scene_of
from states import blank, histogram
from whystall.evidence.symptoms import (
    decode_itl,
    front_residual,
    queue_delay,
    slow_tokens,
    step_wait,
    stepping_ratio,
    symptoms,
    throttled,
    usual_itl,
)


def test_a_wait_by_littles_law() -> None:
    state = scene_of({"waiting": 20}).state
    assert np.nanmedian(queue_delay(state)) == pytest.approx(20 / 4)
    assert (queue_delay(scene_of({}).state) == 0).all()


def test_one_scrape_with_a_queue_is_a_step_in_progress() -> None:
    state = scene_of({"waiting": [0] * 10 + [5] + [0] * 9}).state
    assert np.nanmax(queue_delay(state)) == 0


def test_nobody_saw_the_queue_of_an_hour_between_two_scrapes() -> None:
    queued = scene_of({"waiting": 20}).state
    later = 3599.0 * (np.arange(len(queued.dt)) >= 9)
    start, end = queued.t_start + np.concatenate(([0.0], later[:-1])), queued.t_end + later
    jumped = msgspec.structs.replace(queued, dt=end - start, t_start=start, t_end=end)
    assert np.nanmax(queue_delay(jumped)) < 60
    assert np.isnan(queue_delay(jumped)[9])


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


def test_steps_that_follow_each_other_fill_the_time() -> None:
    assert np.nanmedian(stepping_ratio(scene_of({}).state)) == pytest.approx(1.0, rel=0.01)
    assert np.nanmedian(stepping_ratio(scene_of({"steps": 20}).state)) == pytest.approx(0.2, rel=0.01)


def test_an_arrival_waits_for_the_rest_of_the_running_step() -> None:
    """E[s^2] / 2 E[s] over time: 99 steps of 10 ms and one of 1 s take 1.99 s, and half of what comes meets the long one."""
    bounds = [0.009, 0.011, 0.9, 1.1, 5.0]
    state = blank([1.0] * 4, itl=histogram(bounds, [[0.01] * 99 + [1.0]] * 4))
    assert step_wait(state) == pytest.approx([(99 * 0.01**2 + 1.0**2) / (2 * (99 * 0.01 + 1.0))] * 4)


@given(st.lists(st.floats(0.001, 4.0), min_size=1, max_size=40))
def test_the_wait_is_at_least_half_the_mean_step_and_at_most_half_the_longest(steps: list[float]) -> None:
    bounds = np.linspace(0.02, 5, 250)
    (wait,) = step_wait(blank([1.0], itl=histogram(bounds, [steps])))
    assert wait >= np.mean(steps) / 2 - 0.02
    assert wait <= max(steps) / 2 + 0.02


def test_without_tokens_the_wait_for_a_step_is_not_known() -> None:
    assert np.isnan(step_wait(blank([1.0, 1.0], itl=histogram([0.1], [[], []])))).all()


def test_the_power_cap_is_no_throttle() -> None:
    gpu = {"util": 1.0, "power": 690, "clock_mhz": 1200}
    for bits, held in ((0x4, False), (0x20, True), (0x40, True), (0x8, True), (0x80, True), (0x1, False), (-1, False)):
        assert throttled(scene_of({"gpu": {**gpu, "bits": bits}}).state).any() == held
    assert not throttled(scene_of({"gpu": {**gpu, "bits": 0x20, "clock_mhz": 1900}}).state).any()


def test_refusals_hurt_from_one_in_a_hundred_on() -> None:
    assert not symptoms(scene_of({"rate": 10, "refused": 0.05}).state)["refusals"].any()
    assert symptoms(scene_of({"rate": 10, "refused": 0.5}).state)["refusals"].all()
    assert symptoms(scene_of({"rate": 10, "errors": 0.5}).state)["refusals"].any()


def test_symptoms_are_one_flag_an_interval() -> None:
    state = scene_of({}, {"waiting": 30, "queue_s": 6}).state
    for flag in symptoms(state).values():
        assert flag.dtype == bool
        assert len(flag) == len(state.dt)


@pytest.mark.parametrize("intervals", [3, 4, 6])
def test_a_queue_in_every_other_scrape_is_one(intervals: int) -> None:
    """Two scrapes with a queue near each other show a wait around them, in the shortest window too."""
    waiting = [0, 6, 0, 6] + [0] * (intervals - 3)
    state = blank([5.0] * intervals, waiting_start=waiting[:-1], waiting_end=waiting[1:], first_tokens=[5] * intervals)
    assert (queue_delay(state)[:3] > 0).all()

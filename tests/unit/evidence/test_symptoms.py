import numpy as np
import pytest

from scenes import scene_of
from states import blank, histogram
from whystall.evidence.symptoms import (
    decode_itl,
    queue_delay,
    slow_tokens,
    stepping_ratio,
    symptoms,
    throttled,
    usual_itl,
)


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


def test_steps_that_follow_each_other_fill_the_time() -> None:
    assert np.nanmedian(stepping_ratio(scene_of({}).state)) == pytest.approx(1.0, rel=0.01)
    assert np.nanmedian(stepping_ratio(scene_of({"steps": 20}).state)) == pytest.approx(0.2, rel=0.01)


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


def queue_seen(apart_s: float, waited_s: float, after: int) -> bool:
    """Whether a gauge that shows 6 at two scrapes is a queue, where requests of 3 s tell ``waited_s`` when they finish."""
    count = 3 + after
    waiting = [0, 0, 6, 6, 0, *[0] * after][: count + 1]
    ten = [10] * count
    told, lived = histogram([1.0], [[waited_s] * 10] * count), histogram([1.0], [[3.0] * 10] * count)
    state = blank([apart_s] * count, waiting_start=waiting[:-1], waiting_end=waiting[1:], first_tokens=ten, finished=ten,
                  queue=told, e2e=lived)  # fmt: skip
    return bool(symptoms(state)["queue"].any())


@pytest.mark.parametrize(
    ("apart_s", "waited_s", "after", "queued"),
    [(15.0, 0.05, 5, False), (15.0, 0.5, 5, True), (1.0, 0.05, 5, True), (15.0, 0.05, 0, True)],
    ids=["nobody waited", "they waited", "scrapes of a second see it", "they have not finished yet"],
)
def test_who_finished_tells_whether_a_gauge_met_a_wave(
    apart_s: float, waited_s: float, after: int, queued: bool
) -> None:
    assert queue_seen(apart_s, waited_s, after) == queued

import msgspec
import numpy as np
import pytest

from scenes import scene_of
from whystall.evidence.queueing import queue_delay


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

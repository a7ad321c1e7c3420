import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenes import scene_of
from states import blank, histogram
from whystall.evidence.front_end import front_residual, step_wait
from whystall.model.engine_state import EngineState


@pytest.mark.parametrize(("front_s", "seen"), [(0.005, 0.0), (0.8, 0.8)])
def test_what_is_neither_queue_nor_prefill_is_the_front(front_s: float, seen: float) -> None:
    residual = front_residual(scene_of({"front_s": front_s}).state)
    assert np.nanmedian(residual) == pytest.approx(seen, abs=0.03)


def test_under_a_queue_the_front_is_not_judged() -> None:
    assert np.isnan(front_residual(scene_of({"waiting": 30, "queue_s": 6, "front_s": 0.8}).state)).all()


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


def test_of_a_few_requests_all_must_be_late() -> None:
    few = {"seconds": 60, "rate": 0.5, "prefill_s": 0.08}
    late = front_residual(scene_of(few, {**few, "front_s": 4}).state)
    assert np.nanmedian(late[75:]) > 1
    assert not (np.nan_to_num(front_residual(scene_of(few, few).state)) > 0.2).any()


def test_who_waited_in_a_queue_gets_its_first_token_after_it() -> None:
    """The queue is gone at second 50, and for four seconds those come out who waited in it."""
    queue, after = {"seconds": 30, "waiting": 30, "queue_s": 6}, {"seconds": 4, "front_s": 3}
    residual = front_residual(scene_of({}, queue, after, {}).state)
    assert np.isfinite(residual[51:]).all()
    assert (residual[51:] < 0.1).all()


def test_long_after_a_queue_the_front_is_judged_again() -> None:
    queue, later = {"seconds": 30, "waiting": 30, "queue_s": 6}, {"seconds": 20, "front_s": 0.8}
    residual = front_residual(scene_of({}, queue, {"seconds": 10}, later).state)
    assert residual[65:] == pytest.approx(0.8, abs=0.03)


def growing(itl_s: float) -> EngineState:
    """From second 30 on tokens take ``itl_s`` and first tokens 600 ms; the requests that finish had a prefill of 200 ms.

    Each lives for 20 s, so until second 50 those finish who came before the change.
    """
    columns = {"running_start": 80, "running_end": 80, "waiting_start": 0, "waiting_end": 0, "first_tokens": 4}
    columns |= {"finished": 4, "generation_tokens": 50}
    latencies = {"ttft": [0.2] * 30 + [0.6] * 30, "queue": [0.0] * 60, "prefill": [0.2] * 60, "e2e": [20.0] * 60}
    return blank(
        [1.0] * 60,
        itl=histogram([0.02, 0.05], [[0.01] * 50] * 30 + [[itl_s] * 50] * 30),
        **{name: histogram([], [[seconds] * 4 for seconds in each]) for name, each in latencies.items()},
        **{name: [float(value)] * 60 for name, value in columns.items()},
    )


def test_who_comes_while_steps_become_longer_has_a_longer_prefill_than_the_histogram_tells() -> None:
    slower, alike = front_residual(growing(0.03)), front_residual(growing(0.01))
    assert (slower[30:44] < 0.05).all()
    assert alike[36:44] == pytest.approx(0.4, abs=0.03)
    # Once those finish who came after the change, their own prefill is on the page: what is left is the front end's.
    assert slower[57:] == pytest.approx(0.4, abs=0.03)


def crowd(each: list[int]) -> EngineState:
    """As many first tokens in each second as ``each`` says, 1.2 s after they were sent; prefill takes 400 ms of it.

    A step of ten requests and more takes 700 ms.
    """
    n = len(each)
    columns = {"running_start": 80, "running_end": 80, "waiting_start": 0, "waiting_end": 0, "generation_tokens": 50}
    latencies = {"ttft": 1.2, "queue": 0.0, "prefill": 0.4, "e2e": 4.0}
    return blank(
        [1.0] * n,
        itl=histogram([0.02, 0.5, 0.75], [[0.01] * 100 + [0.7]] * n),
        first_tokens=[float(count) for count in each],
        finished=[float(count) for count in each],
        steps=[1 / 0.7 if count >= 10 else 100.0 for count in each],
        **{name: histogram([1.0, 2.0], [[seconds] * count for count in each]) for name, seconds in latencies.items()},
        **{name: [float(value)] * n for name, value in columns.items()},
    )


def test_who_comes_in_a_bunch_waits_for_the_whole_of_the_step_that_it_makes() -> None:
    even, together = front_residual(crowd([6] * 40)), front_residual(crowd([30, 0, 0, 0, 0] * 8))
    assert np.nanmedian(even) > 0.4
    assert np.nanmedian(together) == pytest.approx(0.8 - 0.7, abs=0.03)


def test_another_rate_of_requests_is_no_bunch() -> None:
    assert np.nanmedian(front_residual(crowd([5] * 20 + [15] * 20))) > 0.4


def test_some_requests_a_minute_are_judged_over_half_a_minute() -> None:
    """0.4 requests a second: ten are there in 25 s, and the slow ones come from second 60 on."""
    few = {"seconds": 60, "rate": 0.4, "prefill_s": 0.4}
    residual = np.nan_to_num(front_residual(scene_of(few, {**few, "front_s": 0.8}).state))
    assert residual[80:105].max() == pytest.approx(0.8, abs=0.05)
    assert (residual[:50] < 0.1).all()
    assert (np.nan_to_num(front_residual(scene_of(few, few).state)) < 0.1).all()

import pytest

from scenes import CALM, scene_of
from whystall.evidence.cohorts import cohorts

LOSS = {"seconds": 40, "waiting": 30, "queue_s": 5.0}


def test_lengths_that_came_more_and_less_often() -> None:
    mix = {"prompt": [[0.5, 200], [0.5, 4000]]}
    found = cohorts(scene_of({**CALM, "seconds": 40}, {**LOSS, **mix}))
    assert {(one.length, one.low, one.high) for one in found} == {("prompt", 100.0, 200.0), ("prompt", 2000.0, 5000.0)}
    longer = next(one for one in found if one.low == 2000)
    assert (longer.before_ratio, longer.now_ratio) == (0.0, pytest.approx(0.5))
    assert longer.now_per_s == pytest.approx(2.0, rel=0.1)


def test_the_same_mix_and_no_past_have_none() -> None:
    assert cohorts(scene_of({**CALM, "seconds": 40}, LOSS)) == ()
    assert cohorts(scene_of(LOSS)) == ()
    assert cohorts(scene_of(CALM)) == ()


def test_a_change_of_a_handful_is_chance() -> None:
    few = {"rate": 0.3, "prompt": [[0.8, 200], [0.2, 4000]]}
    assert cohorts(scene_of({**CALM, "seconds": 40, "rate": 0.3}, {**LOSS, **few})) == ()

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenes import scene_of
from whystall.evidence.change import change_point, onset_of


@settings(max_examples=40)
@given(st.integers(5, 40), st.integers(5, 40), st.integers(0, 2**31))
def test_finds_a_clear_step_within_its_interval(before: int, after: int, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 0.5, before + after)
    found = change_point(np.concatenate((np.full(before, 10.0), np.full(after, 30.0))) + noise)
    assert found is not None
    best, low, high = found
    assert low <= best <= high
    assert abs(best - before) <= 1


def test_one_odd_value_is_no_step() -> None:
    values = np.full(30, 10.0) + np.tile([0.1, -0.1], 15)
    values[7] = 500.0
    values[20:] += 5
    found = change_point(values)
    assert found is not None
    assert abs(found[0] - 20) <= 1


def test_too_few_values() -> None:
    assert change_point(np.array([1.0, 2.0, 3.0])) is None


def test_an_onset_on_the_windows_clock() -> None:
    scene = scene_of({}, {"seconds": 30, "prompt": 800, "waiting": 20, "queue_s": 5})
    onset = onset_of(scene, scene.state.prompt_tokens, scene.state.first_tokens)
    assert onset is not None
    assert onset.seconds == pytest.approx(20, abs=1)
    assert onset.low <= onset.seconds <= onset.high


def test_nothing_counted_has_no_onset() -> None:
    scene = scene_of({})
    assert onset_of(scene, scene.state.prompt_tokens, np.zeros(len(scene.state.dt))) is None

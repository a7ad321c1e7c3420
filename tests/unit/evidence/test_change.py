import numpy as np
import pytest
import ruptures
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


@settings(max_examples=25)
@given(st.integers(8, 40), st.integers(8, 40), st.floats(1.5, 5), st.integers(0, 2**31))
def test_agrees_with_ruptures_on_a_clear_step(before: int, after: int, times: float, seed: int) -> None:
    level = np.concatenate((np.ones(before), np.full(after, times)))
    values = level * (1 + np.random.default_rng(seed).normal(0, 0.05, before + after))
    oracle = ruptures.Dynp(model="l2", min_size=2, jump=1).fit(values).predict(n_bkps=1)[0]
    found = change_point(values)
    assert found is not None
    assert abs(found[0] - oracle) <= 1


@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_any_values_give_an_ordered_split_inside_them(values: list[float]) -> None:
    found = change_point(np.array(values))
    assert (found is None) == (len(values) < 4)
    if found is not None:
        best, low, high = found
        assert 2 <= low <= best <= high <= len(values) - 2


@given(st.floats(0.1, 1e6), st.integers(0, 2**31))
def test_the_unit_does_not_matter(unit: float, seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 1, 30)
    values = 10 + noise + 8 * (np.arange(30) >= 17)
    found, scaled = change_point(values), change_point(values * unit)
    assert found is not None
    assert scaled is not None
    assert found[0] == scaled[0]

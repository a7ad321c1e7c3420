import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whystall.state.counters import increases, went_down

steps = st.lists(st.floats(min_value=0, max_value=1e6), min_size=2, max_size=30)


@given(steps)
def test_increases_are_what_was_added(added: list[float]) -> None:
    values = np.cumsum(added)
    assert np.allclose(increases(values), added[1:], rtol=1e-9, atol=1e-3)
    assert not went_down(values[None, :]).any()


@given(steps, st.floats(min_value=1, max_value=1e9))
def test_a_constant_added_to_a_counter_changes_nothing(added: list[float], constant: float) -> None:
    values = np.cumsum(added)
    assert np.allclose(increases(values + constant), increases(values), atol=1e-4)


def test_a_reset_is_unknown_not_the_value_after_it() -> None:
    found = increases(np.array([10.0, 12.0, 3.0, 4.0]))
    assert found[0] == 2
    assert np.isnan(found[1])
    assert found[2] == 1


def test_a_lost_scrape_is_unknown_on_both_sides() -> None:
    found = increases(np.array([1.0, np.nan, 3.0, 5.0]))
    assert np.isnan(found[:2]).all()
    assert found[2] == 2


def test_which_interval_a_restart_fell_into() -> None:
    several = np.array([[1.0, 2.0, 3.0, 4.0], [9.0, np.nan, 1.0, 0.5]])
    assert went_down(several).tolist() == [False, False, True]
    assert went_down(np.zeros((0, 4))).tolist() == [False] * 3

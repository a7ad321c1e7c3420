import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scenes import scene_of
from whystall.evidence.smoothing import keep_runs, runs, smooth_rate

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


def test_a_smooth_rate_is_the_rate() -> None:
    state = scene_of({}).state
    assert np.allclose(smooth_rate(state, state.first_tokens), 4.0)
    assert np.isnan(smooth_rate(state, np.full(20, np.nan))).all()

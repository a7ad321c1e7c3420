import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from scenes import CALM, scene_of
from whystall.evidence.lags import lags, rank_correlation
from whystall.evidence.scene import Scene

LOSS = {"seconds": 40, "waiting": 30, "queue_s": 5.0}
values = st.lists(st.integers(0, 20), min_size=3, max_size=40)


@given(values, st.randoms())
def test_ranks_agree_with_scipy(x: list[int], random) -> None:
    y = [random.randint(0, 20) for _ in x]
    if len(set(x)) > 1 and len(set(y)) > 1:
        expected = spearmanr(x, y).statistic
        assert rank_correlation(np.array(x, float), np.array(y, float)) == pytest.approx(expected, abs=1e-9)
    assert rank_correlation(np.array(x, float), np.ones(len(x))) == 0


def test_a_signal_that_goes_before_a_queue_is_found_at_its_lag() -> None:
    scene = scene_of(CALM, LOSS)
    rng = np.random.default_rng(1)
    cores = rng.random(len(scene.state.dt))
    late = np.roll(cores, 5) * 50
    late[:5] = 0
    state = msgspec.structs.replace(scene.state, api_cores=cores, waiting_end=late)
    found = next(one for one in lags(Scene(state)) if one.signal == "api_cores" and one.loss == "waiting")
    assert found.lag_s == pytest.approx(5.0)
    assert found.correlation > 0.9


def test_nothing_is_shown_where_nothing_hurts_or_too_little_was_seen() -> None:
    assert lags(scene_of({**CALM, "seconds": 60})) == ()
    assert lags(scene_of({**CALM, "seconds": 6}, {**LOSS, "seconds": 8})) == ()

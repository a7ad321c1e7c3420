"""A window's own steps make its profile, with what is known of such machines."""

import msgspec
import numpy as np
import pytest

from whystall.emulator.profiles import load_profile
from whystall.errors import TooLittleData
from whystall.pipeline import states_of
from whystall.sources.files.recording import read_recording
from whystall.state.calibration import coefficient_draws
from whystall.state.window_fit import after_restart, fit_window


@pytest.fixture(scope="module")
def state(request):
    return states_of(read_recording(request.config.rootpath / "tests" / "data" / "recordings" / "seq_cap"))[0]


def test_the_floor_is_the_machines(state):
    fit = fit_window(state, load_profile("h200-8b"))
    assert fit.profile.floor_s == pytest.approx(load_profile("h200-8b").floor_s, rel=0.1)
    assert fit.profile.error_ratio < 0.05
    assert fit.known == "h200-8b"
    assert len(fit.samples) >= 8


def test_draws_lie_around_the_fit_and_further_where_nothing_tells(state):
    fit = fit_window(state, load_profile("h200-8b"))
    draws = coefficient_draws(fit.samples, fit.profile, 200, seed=1)
    floors = np.log([draw.floor_s / fit.profile.floor_s for draw in draws])
    pairs = np.log([draw.pair_s / fit.profile.pair_s for draw in draws])
    assert abs(floors.mean()) < 0.02
    assert floors.std() < 0.05 < pairs.std()
    assert coefficient_draws(fit.samples, fit.profile, 3, seed=1) == coefficient_draws(
        fit.samples, fit.profile, 3, seed=1
    )


def test_what_was_before_a_restart_is_left_out(state):
    valid = state.valid.copy()
    valid[10] = False
    table = after_restart(msgspec.structs.replace(state, valid=valid))
    assert len(table.times) == len(state.series.times) - 11


def test_a_state_without_its_series_cannot_be_fitted(state):
    with pytest.raises(TooLittleData):
        fit_window(msgspec.structs.replace(state, series=None))

"""A window's own steps make its profile, with what is known of such machines."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.recorder import record_run
from whystall.errors import TooLittleData
from whystall.pipeline import diagnose
from whystall.remedies.whatif.machine import machine_of
from whystall.remedies.whatif.subject import steps_since
from whystall.sources.files.recording import read_recording
from whystall.state.calibration import coefficient_draws
from whystall.state.recorded import states_of
from whystall.state.window_fit import after_restart, fit_window

SEATS = Path(__file__).resolve().parents[2] / "data" / "recordings" / "seq_cap"


@pytest.fixture(scope="module")
def state():
    return states_of(read_recording(SEATS))[0]


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


@pytest.fixture(scope="module")
def throttled(tmp_path_factory):
    """Steps as usual for 15 s, and then slower ones."""
    planned = [Planned(FAULTS["gpu_throttle"], 15.0, 1.0)]
    deployment = Deployment(prepared(healthy_serving("gpu_throttle"), planned), start=1_790_000_000.0)
    inject(deployment, planned[0])
    folder = tmp_path_factory.mktemp("throttled")
    record_run(deployment, folder, seconds=50.0)
    recording = read_recording(folder)
    return diagnose(recording).diagnosis, states_of(recording)[0]


def test_steps_of_before_a_change_are_left_out(throttled):
    diagnosis, state = throttled
    since = steps_since(diagnosis, state)
    assert since == pytest.approx(15.0, abs=3.0)
    now = fit_window(state, since_s=since).profile
    assert now.error_ratio < 0.03
    assert fit_window(state).profile.error_ratio > 2 * now.error_ratio
    assert machine_of(state, since).used.error_ratio < 0.03
    assert machine_of(state, 48.0).used.error_ratio == machine_of(state).used.error_ratio  # too little is left


def test_where_steps_did_not_change_all_of_the_window_is_taken(state):
    assert steps_since(diagnose(read_recording(SEATS)).diagnosis, state) == 0.0


def test_a_state_without_its_series_cannot_be_fitted(state):
    with pytest.raises(TooLittleData):
        fit_window(msgspec.structs.replace(state, series=None))

"""The GPU's own part of a step that waits for the host, read off its busy share."""

from __future__ import annotations

import asyncio
import math

import msgspec
import numpy as np
import pytest

from whystall.emulator.profiles import load_profile
from whystall.model.configuration import Configuration
from whystall.model.engine_state import EngineState
from whystall.pipeline import states_of
from whystall.remedies.whatif.gpu_time import busy_step_s, floor_of
from whystall.remedies.whatif.machine import machine_of
from whystall.trials.lab.treatable import TREATABLE

EAGER = next(scene for scene in TREATABLE if scene.cause == "launch_bound")


def state_of_a_server(times: float) -> EngineState:
    """An eager server whose GPU takes ``times`` as long for a step as the profile of its kind says."""
    roomy = EAGER.roomy()
    slower = roomy.profile.scaled(**dict.fromkeys(("floor_s", "token_s", "decode_request_s", "pair_s"), times))
    target = EAGER.target(msgspec.structs.replace(roomy, profile=slower))
    target.let_run(60.0)
    return states_of(asyncio.run(target.look(40.0)))[0]


@pytest.mark.parametrize("times", [0.7, 1.0, 1.4])
def test_a_floor_under_launches_is_measured_and_not_taken_from_the_kind(times: float) -> None:
    machine = machine_of(state_of_a_server(times))
    floors = [known.floor_s for number in range(20) if (known := machine.like(number)) is not None]
    assert np.median(floors) == pytest.approx(times * load_profile("h200-8b").floor_s, rel=0.08)
    assert np.std(np.log(floors)) < 0.06


def test_without_a_gauge_that_idles_nothing_is_known() -> None:
    state = state_of_a_server(1.0)
    assert state.gpu is not None
    assert math.isnan(busy_step_s(msgspec.structs.replace(state, gpu=None)))
    full = msgspec.structs.replace(state.gpu, util_ratio=np.full(len(state.dt), 0.99))
    assert math.isnan(busy_step_s(msgspec.structs.replace(state, gpu=full)))
    several = Configuration(tensor_parallel=4)  # a rank that waits for the others is in use
    assert math.isnan(busy_step_s(msgspec.structs.replace(state, configuration=several)))
    assert math.isnan(floor_of(0.005, None, load_profile("h200-8b")))
    samples = machine_of(state).samples
    assert math.isnan(floor_of(1e-6, samples, load_profile("h200-8b")))  # less than its requests alone take

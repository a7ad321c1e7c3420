"""The cause put in makes the loss, taken out the loss goes: on a recording of an emulated incident."""

from __future__ import annotations

import msgspec
import pytest

from scenes import scene_of
from whystall.causes.counterfactual import TREATMENTS, counterfactual, reproduce
from whystall.causes.judge import judge
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults import FAULTS, Planned, inject
from whystall.emulator.server.recorder import record_run
from whystall.emulator.server.traffic import TrafficPlan
from whystall.model.diagnosis import Cause
from whystall.model.text import Text
from whystall.pipeline import diagnose, states_of
from whystall.sources.files.recording import read_recording

PROFILE = load_profile("h200-8b")


def cause(name: str) -> Cause:
    return Cause(name, 1.0, "limit", Text("", ""))


@pytest.fixture(scope="module")
def incident(tmp_path_factory: pytest.TempPathFactory):
    """Prompts grow from 500 to 2,500 tokens at the same rate, and a small pool of blocks is full."""
    folder = tmp_path_factory.mktemp("incident")
    options = EngineOptions(num_gpu_blocks=2500, max_num_seqs=1024, max_model_len=8192, async_scheduling=True)
    traffic = TrafficPlan(mix=(LengthClass(1.0, (400, 600), (300, 500)),), rate=8.0)
    deployment = Deployment(Serving(options=options, profile=PROFILE, traffic=traffic), start=1_790_000_000.0)
    inject(deployment, Planned(FAULTS["longer_prompts"], 30.0, 1.0))
    record_run(deployment, folder, seconds=80)
    recording = read_recording(folder)
    return diagnose(recording).diagnosis, states_of(recording)[0]


def checked(incident, *names):
    diagnosis, state = incident
    asked = msgspec.structs.replace(diagnosis, verdict="bottleneck", causes=tuple(map(cause, names)))
    found = counterfactual(asked, state, PROFILE, most=len(names))
    return {c.id: c.reproduced for c in found.causes}


def test_the_limit_and_its_trigger_are_reproduced(incident):
    found = checked(incident, "kv_capacity", "longer_prompts")
    assert all(said.holds for said in found.values()), found
    assert {said.figure for said in found.values()} == {"ttft_mean_s"}


def test_other_limits_and_features_are_not(incident):
    found = checked(incident, "seat_cap", "longer_outputs", "queue_limit", "gpu_throttle", "head_of_line_prompt")
    assert not any(said.holds for said in found.values()), found


def test_what_the_engine_cannot_express_is_left_open(incident):
    assert "frontend_cpu" not in TREATMENTS
    assert checked(incident, "frontend_cpu") == {"frontend_cpu": None}


def test_without_a_profile_it_is_said(incident):
    diagnosis, state = incident
    unknown = msgspec.structs.replace(state.configuration, gpu_name="", weights_bytes=None, model="")
    found = reproduce(diagnosis, msgspec.structs.replace(state, configuration=unknown))
    assert [notice.id for notice in found.warnings if notice.id == "no_profile"] == ["no_profile"]


def test_a_healthy_server_is_asked_nothing():
    scene = scene_of({"seconds": 30})
    diagnosis = judge(scene.state, "t")
    assert diagnosis.verdict == "healthy"
    assert counterfactual(diagnosis, scene.state, PROFILE) is diagnosis


@pytest.mark.parametrize("slower", [1.0, 1.2])
def test_a_machine_somewhat_slower_than_its_kind_is_taken_as_it_is(incident, slower):
    """The profile is of a machine a fifth quicker: the incident is reproduced, with the steps of its own past."""
    diagnosis, state = incident
    kind = PROFILE.scaled(**dict.fromkeys((n for n in StepProfile.__struct_fields__ if n.endswith("_s")), 1 / slower))
    asked = msgspec.structs.replace(diagnosis, verdict="bottleneck", causes=(cause("kv_capacity"),))
    (found,) = counterfactual(asked, state, kind).causes
    assert found.reproduced.holds
    assert found.reproduced.emulated == pytest.approx(1.0, abs=0.2)


def test_a_slow_part_is_as_slow_as_the_itl_says(tmp_path):
    options = EngineOptions(num_gpu_blocks=20000, max_num_seqs=1024, max_model_len=8192, async_scheduling=True)
    traffic = TrafficPlan(mix=(LengthClass(1.0, (1200, 1600), (100, 300)),), rate=10.0)
    deployment = Deployment(Serving(options=options, profile=PROFILE, traffic=traffic), start=1_790_000_000.0)
    inject(deployment, Planned(FAULTS["gpu_throttle"], 30.0, 1.0))
    record_run(deployment, tmp_path, seconds=80)
    recording = read_recording(tmp_path)
    found = checked((diagnose(recording).diagnosis, states_of(recording)[0]), "gpu_throttle", "kv_capacity")
    assert found["gpu_throttle"].holds
    assert 0.8 <= found["gpu_throttle"].emulated <= 1.25  # not many times the loss, as a step that is too slow makes
    assert not found["kv_capacity"].holds


def test_launches_are_not_asked_for_where_they_are_all_that_is_known(incident):
    diagnosis, state = incident
    asked = msgspec.structs.replace(diagnosis, verdict="bottleneck", causes=(cause("launch_bound"),))
    eager = msgspec.structs.replace(PROFILE, max_graph_tokens=0)
    assert counterfactual(asked, state, eager).causes[0].reproduced is None
    assert counterfactual(asked, state, PROFILE).causes[0].reproduced is not None


def test_it_is_said_where_nothing_could_be_played(incident):
    diagnosis, state = incident
    asked = msgspec.structs.replace(diagnosis, verdict="bottleneck", causes=(cause("frontend_cpu"),))
    (notice,) = [one for one in reproduce(asked, state, PROFILE).warnings if one.id == "not_reproduced"]
    assert "frontend_cpu" in notice.text.en
    assert "frontend_cpu" in notice.text.zh
    played = msgspec.structs.replace(diagnosis, verdict="bottleneck", causes=(cause("kv_capacity"),))
    assert all(one.id != "not_reproduced" for one in reproduce(played, state, PROFILE).warnings)

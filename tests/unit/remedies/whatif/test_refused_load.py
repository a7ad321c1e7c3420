"""A server that refuses: its clients come back later, and who was refused is part of the load that came."""

import msgspec
import pytest

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass, Load, Phase
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.recorder import record_run
from whystall.emulator.server.traffic import TrafficPlan
from whystall.sources.files.recording import read_recording
from whystall.state.arrivals import rebuild_load

START = 1_790_000_000.0
MIX = (LengthClass(1.0, (200, 300), (50, 60)),)
OPTIONS = EngineOptions(num_gpu_blocks=20000, max_num_queued_reqs=4, async_scheduling=True)


@pytest.fixture
def refused(tmp_path):
    plan = TrafficPlan(mix=MIX, rate=60.0)
    deployment = Deployment(Serving(options=OPTIONS, profile=load_profile("h200-8b"), traffic=plan), start=START)
    record_run(deployment, tmp_path, seconds=20, gpu=False)
    return read_recording(tmp_path), deployment.refused["max_num_queued_reqs"]


def test_who_was_refused_is_part_of_the_load(refused):
    recording, count = refused
    segments = rebuild_load(recording.metrics)
    assert all(segment.clients == 0 for segment in segments)
    came = sum(len(segment.arrivals) for segment in segments)
    assert count > 100
    assert came == pytest.approx(60 * 20, rel=0.15)


def test_clients_that_are_refused_come_back_after_a_while():
    plan = TrafficPlan(mix=MIX, clients=12)
    deployment = Deployment(Serving(options=OPTIONS, profile=load_profile("h200-8b"), traffic=plan), start=START)
    deployment.advance(START + 10)
    refused = deployment.refused["max_num_queued_reqs"]
    assert 8 <= refused <= 12 * 11


def test_so_do_those_of_the_engine_alone():
    engine = Engine(OPTIONS, load_profile("h200-8b"))
    Load(1).play(engine, [Phase(seconds=10.0, mix=MIX, clients=12)])
    assert 8 <= len(engine.journal.rejected) <= 12 * 11
    free = Engine(msgspec.structs.replace(OPTIONS, max_num_queued_reqs=None), load_profile("h200-8b"))
    Load(1).play(free, [Phase(seconds=10.0, mix=MIX, clients=12)])
    assert len(free.journal.rejected) == 0

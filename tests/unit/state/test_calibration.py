"""A profile fitted to an emulated server's counters is the one that it ran with; a load rebuilt is the one it got."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from emulated import START
from whystall.cli.calibrate import calibrate as calibrate_verb
from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile, read_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.recorder import record_run
from whystall.emulator.server.traffic import TrafficPlan
from whystall.errors import TooLittleData, UsageError
from whystall.model.recording import Recording, SeriesTable
from whystall.sources.configuration import read_configuration
from whystall.sources.files.recording import read_recording
from whystall.state.arrivals import play_load, rebuild_load
from whystall.state.calibration import step_samples
from whystall.state.profile_fit import calibrate

TRUE = load_profile("h200-8b")


def recorded(folder: Path, plan: TrafficPlan, seconds: float = 60, **options: object) -> Recording:
    chosen = EngineOptions(**{"num_gpu_blocks": 20000, "max_num_seqs": 512, "async_scheduling": True, **options})
    server = Deployment(Serving(options=chosen, profile=TRUE, traffic=plan), start=START)
    record_run(server, folder, seconds=seconds)
    return read_recording(folder)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    plans = [
        TrafficPlan(mix=(LengthClass(1, (500, 500), (100, 200)),), rate=8),
        TrafficPlan(mix=(LengthClass(1, (100, 300), (200, 400)),), clients=48),
        TrafficPlan(mix=(LengthClass(1, (2000, 6000), (50, 150)),), rate=4),
        TrafficPlan(mix=(LengthClass(1, (200, 200), (100, 100)),), rate=14),
    ]
    folder = tmp_path_factory.mktemp("runs")
    return [recorded(folder / str(number), plan) for number, plan in enumerate(plans)]


def test_the_fit_finds_the_profile_that_made_the_counters(recordings: list[Recording]) -> None:
    found = calibrate([(r, read_configuration(r)) for r in recordings], "found")
    assert found.error_ratio < 0.03
    assert found.floor_s == pytest.approx(TRUE.floor_s, rel=0.05)
    assert found.token_s == pytest.approx(TRUE.token_s, rel=0.15)
    assert found.host_eager_s == pytest.approx(TRUE.host_eager_s, rel=0.15)


def test_an_emulated_server_with_the_fitted_profile_behaves_alike(recordings: list[Recording]) -> None:
    found = calibrate([(r, read_configuration(r)) for r in recordings], "found")
    options = EngineOptions(num_gpu_blocks=20000, max_num_seqs=512, async_scheduling=True)
    gaps = []
    for profile in (TRUE, found):
        engine = Engine(options, profile)
        play_load(engine, rebuild_load(recordings[1].metrics))
        values, weights = engine.journal.gaps()
        gaps.append(float((values * weights).sum() / weights.sum()))
    assert gaps[1] == pytest.approx(gaps[0], rel=0.05)


def test_too_little_work_is_refused_by_name(tmp_path: Path) -> None:
    idle = recorded(tmp_path / "idle", TrafficPlan(rate=0.05), seconds=20)
    with pytest.raises(TooLittleData, match="too few for a fit"):
        calibrate([(idle, read_configuration(idle))], "x")
    with pytest.raises(TooLittleData, match="too few scrapes"):
        step_samples(SeriesTable.empty(), cache_tokens=1.0, token_budget=1)


def test_a_closed_loop_is_found_as_one_and_an_open_one_is_not(recordings: list[Recording]) -> None:
    closed = rebuild_load(recordings[1].metrics)
    assert Counter(segment.clients for segment in closed if segment.seconds > 20) == {48: 1}
    opened = rebuild_load(recordings[0].metrics)
    assert all(segment.clients == 0 for segment in opened)
    arrivals = [a for segment in opened for a in segment.arrivals]
    assert {a.prompt_tokens for a in arrivals} == {500}
    assert np.mean([a.output_tokens for a in arrivals]) == pytest.approx(150, rel=0.1)
    assert len(arrivals) == pytest.approx(8 * 60, rel=0.2)


def test_the_shared_recordings_hold_the_loads_that_made_them(shared: Path) -> None:
    loads = {n: rebuild_load(read_recording(shared / "recordings" / n).metrics) for n in ("seq_cap", "prefix_collapse")}
    assert [(s.clients, round(s.seconds)) for s in loads["seq_cap"]] == [(8, 15), (96, 40)]
    assert {(k.prompt, k.output) for s in loads["seq_cap"] for k in s.kinds} == {(256, 256)}
    shares = [a.prefix_tokens for s in loads["prefix_collapse"] for a in s.arrivals]
    assert np.mean(np.asarray(shares[:500]) > 3900) > 0.9
    assert np.mean(np.asarray(shares[-500:]) == 0) > 0.95


def test_the_verb_writes_a_profile_and_never_over_another(shared: Path, tmp_path: Path) -> None:
    folder, out = shared / "recordings" / "seq_cap", tmp_path / "own.json"
    done = CliRunner().invoke(calibrate_verb, [str(folder), "-o", str(out)], standalone_mode=False)
    assert done.exception is None
    assert done.return_value == 0
    assert "own.json" in done.output
    assert read_profile(out).floor_s == pytest.approx(0.0049, rel=0.1)
    again = CliRunner().invoke(calibrate_verb, [str(folder), "-o", str(out)], standalone_mode=False)
    assert isinstance(again.exception, UsageError)


def test_a_profile_survives_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(msgspec.json.encode(TRUE))
    assert read_profile(tmp_path / "a.json") == TRUE

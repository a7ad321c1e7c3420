"""A limit that will be reached: what helps is tried under the load that comes, not under today's."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from whystall.emulator.engine.workload import LengthClass
from whystall.model.incident import Forecast
from whystall.model.text import Text
from whystall.pipeline import diagnose
from whystall.remedies.foreseen import MOST_LOAD, candidates, foreseen, load_to_come
from whystall.state.recorded import states_of
from whystall.trials.emulated_target import EmulatedTarget
from whystall.trials.lab.treatable import TREATABLE


def coming(limit: str = "seats", level: float = 0.7, slope: float = 0.7 / 600) -> Forecast:
    return Forecast(limit, 120.0, 1.0, level, slope, Text("full soon"))


@pytest.fixture(scope="module")
def looked():
    """A server with 16 seats of which half are taken, and nobody waits."""
    scene = next(scene for scene in TREATABLE if scene.cause == "seat_cap")
    plain = scene.roomy()
    traffic = msgspec.structs.replace(
        plain.traffic, clients=0, rate=11.0, mix=(LengthClass(1.0, (200, 400), (80, 160)),)
    )
    roomy = msgspec.structs.replace(plain, traffic=traffic)
    serving = msgspec.structs.replace(scene, flags={"max_num_seqs": 16}).serving(roomy)
    target = EmulatedTarget(serving, roomy)
    target.let_run(120.0)
    recording = asyncio.run(target.look(60.0))
    return diagnose(recording).diagnosis, states_of(recording)[0]


def test_seats_are_raised_for_what_will_have_come(looked):
    assert looked[0].verdict == "healthy"
    found = foreseen(coming(), *looked)
    assert found.load_factor == pytest.approx(2.0)
    assert found.remedy.change.keys() == {"--max-num-seqs"}
    assert int(found.remedy.change["--max-num-seqs"]) > 20
    assert found.remedy.prediction.advice == "recommend"
    without = {metric.id: metric.predicted for metric in found.without}
    assert found.remedy.prediction.metric("ttft_p95").predicted.mid < 0.5 * without["ttft_p95"].mid
    assert "nothing was changed" in found.because.en
    assert "2.0" in found.because.zh


def test_what_would_help_too_little_is_not_advised(looked):
    found = foreseen(coming(slope=0.0), *looked)
    assert found.load_factor == 1.0
    assert found.remedy is None
    assert "no flag" in found.because.en


def test_values_are_for_what_comes(looked):
    asked = [candidates(coming(), *looked, factor)[0].change["--max-num-seqs"] for factor in (1.5, 3.0)]
    assert int(asked[0]) < int(asked[1])


def test_a_window_that_says_too_little_names_the_remedy_and_why_it_is_not_predicted(looked):
    diagnosis, state = looked
    found = foreseen(coming(), diagnosis, msgspec.structs.replace(state, series=None))
    assert found.remedy.change
    assert found.remedy.prediction is None
    assert "cannot be said" in found.because.en


def test_a_burst_s_begin_is_no_trend_of_ten_minutes():
    assert load_to_come(coming(level=0.5, slope=0.1)) == MOST_LOAD
    assert load_to_come(coming(level=0.9, slope=0.0)) == 1.0

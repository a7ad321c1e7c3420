from pathlib import Path

import msgspec
import numpy as np
import pytest

from scenes import ARGV, evidence_of, scene_of
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import inject, parse_fault
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.recorder import record_run
from whystall.evidence.scene import Scene
from whystall.evidence.workload import arrivals, workload
from whystall.model.engine_state import ClientState
from whystall.model.recording import ClientColumns
from whystall.pipeline import states_of
from whystall.sources.files.recording import read_recording

NO_ROWS = ClientColumns(*[np.zeros(0)] * 10, error=())
HURT = {"seconds": 40, "waiting": 40, "queue_s": 8}


@pytest.mark.parametrize(
    ("id", "change"),
    [
        ("prompts.longer", {"prompt": 800}),
        ("outputs.longer", {"output": 800}),
        ("requests.more", {"rate": 16.0}),
    ],
)
def test_a_shift_is_seen_with_its_size_and_onset(id: str, change: dict) -> None:
    found = evidence_of({"seconds": 30}, {**HURT, **change})[id]
    assert found.value == pytest.approx(4.0, rel=0.15)
    assert found.strength >= 1
    assert found.anomaly
    assert found.onset is not None
    assert found.onset.seconds == pytest.approx(30, abs=2)


def test_the_same_load_has_no_shift() -> None:
    found = evidence_of({"seconds": 30}, HURT)
    assert all(found[id].strength < 0 for id in ("prompts.longer", "outputs.longer"))
    assert not any(found[id].anomaly for id in ("prompts.longer", "outputs.longer"))


def test_without_a_past_there_is_no_shift_to_speak_of() -> None:
    assert "prompts.longer" not in evidence_of(HURT)


def test_a_lost_prefix_cache() -> None:
    lost = evidence_of({"seconds": 30, "cached": 0.8}, {**HURT, "cached": 0.0})["prefix.lost"]
    assert lost.value == pytest.approx(0.8, abs=0.05)
    assert lost.strength >= 1
    kept = evidence_of({"seconds": 30, "cached": 0.8}, {**HURT, "cached": 0.8})["prefix.lost"]
    assert kept.strength < 0


def test_longer_prompts_behind_the_same_beginning_lose_no_cache() -> None:
    """The hit ratio falls to a quarter; each prompt gets the 800 tokens that it got."""
    kept = evidence_of({"seconds": 30, "prompt": 1000, "cached": 0.8}, {**HURT, "prompt": 4000, "cached": 0.2})
    assert kept["prefix.lost"].strength < 0
    assert not kept["prefix.lost"].anomaly


def test_no_more_work_than_before_speaks_against_a_larger_crowd() -> None:
    """Three a second are served of the four that came before; the fourth is in the queue."""
    assert evidence_of({"seconds": 30}, {**HURT, "rate": 3.0})["work.more"].strength < -0.4
    assert evidence_of({"seconds": 30}, {**HURT, "rate": 16.0})["work.more"].strength == pytest.approx(0.3)


def test_a_giant_fills_the_pool_where_the_others_are_long_too() -> None:
    mix = {"prompt": [[0.95, 3000], [0.05, 16000]]}
    small = [*ARGV, "--num-gpu-blocks-override", "1500", "--block-size", "16"]
    assert evidence_of({**HURT, **mix}, argv=small)["prompts.giant"].strength >= 0.3
    assert evidence_of({**HURT, **mix})["prompts.giant"].strength < 0


def test_arrivals_are_finishes_and_what_is_held() -> None:
    scene = scene_of({"running": [4, 6, 8, 8]})
    held = [2, 2, 0, -4] * 5
    assert arrivals(scene)[1:5].tolist() == pytest.approx([4 + h for h in (held * 2)[0:4]])


def test_giant_prompts_are_many_medians() -> None:
    mix = [[0.95, 200], [0.05, 16000]]
    assert evidence_of({**HURT, "prompt": mix})["prompts.giant"].strength >= 1
    assert evidence_of(HURT)["prompts.giant"].strength < 0


def test_low_demand_is_few_running_and_none_waiting() -> None:
    assert evidence_of({"running": 1, "rate": 0.5})["demand.low"].strength > 0.5
    assert evidence_of({"running": 40})["demand.low"].strength < 0
    assert evidence_of(HURT)["demand.low"].strength == -1.5


def test_a_clients_pool_is_flat_and_waits_for_nobody() -> None:
    assert evidence_of({"seconds": 30, "running": 20})["clients.pool"].strength >= 1
    assert evidence_of({"seconds": 30, "running": [5, 9, 13, 20, 2, 7, 11, 3]})["clients.pool"].strength < 0


@pytest.mark.parametrize(("fault", "bursty"), [("burst", True), ("observability_overhead", False)])
def test_who_came_during_a_standstill_is_no_burst(tmp_path: Path, fault: str, bursty: bool) -> None:
    """Both show many arrivals in one interval; after a standstill they are those of several seconds."""
    server = Deployment(healthy_serving(fault), start=1_790_000_000.0)
    inject(server, parse_fault(f"{fault}@20"))
    record_run(server, tmp_path, seconds=70)
    found = {each.id: each for each in workload(Scene(states_of(read_recording(tmp_path))[0]))}["arrivals.bursty"]
    assert (found.strength >= 1) == bursty
    assert (found.strength < 0.3) == (not bursty)


@pytest.mark.parametrize(("sent", "crowd"), [(12.0, True), (2.0, False)])
def test_more_sent_than_a_slow_front_end_takes_is_a_crowd(sent: float, crowd: bool) -> None:
    """The engine takes in two a second before and after; the client's file tells that six times as many were sent."""
    scene = scene_of({"seconds": 40, "rate": 2}, {"seconds": 40, "rate": 2, "front_s": 3.0})
    state = scene.state
    view = ClientState(NO_ROWS, np.where(state.t_start < 40, 2.0, sent), *[state.dt * 0] * 3, 0.0, 8.0)
    scene.state = msgspec.structs.replace(state, client=view)
    found = {evidence.id: evidence for evidence in workload(scene)}["requests.crowd"]
    assert (found.strength >= 1.0) == crowd
    assert (found.value or 0.0) > 3.0 or not crowd


def test_without_a_client_s_file_nobody_knows_of_a_crowd() -> None:
    assert "requests.crowd" not in evidence_of({"seconds": 40}, {"seconds": 40, "front_s": 3.0})


CROWDS = {"seconds": 60, "running": [52, 52, 40, 20, 4, 2, 2, 2, 2, 2], "rate": 5, "queue_s": 1.0, "prefill_s": 0.9}


def test_a_load_that_always_comes_in_crowds_is_no_news() -> None:
    assert evidence_of({"seconds": 30, "running": 12}, CROWDS)["arrivals.bunched"].strength >= 0.3
    waves = {"seconds": 30, "running": [60, 60, 40, 20, 4, 2, 2, 2, 2, 2], "rate": 5}
    assert evidence_of(waves, CROWDS)["arrivals.bunched"].strength < 0.3


def test_what_the_client_sent_evenly_came_in_no_crowds() -> None:
    """Between steps that take longer than a scrape, or behind a slow front end, the page sees requests come together."""
    scene = scene_of({"seconds": 30, "running": 12}, CROWDS)
    m = len(scene.state.dt)
    even, crowded = np.full(m, 5.0), np.where(np.arange(m) % 10 == 0, 50.0, 0.0)
    for sent, bursty in ((even, False), (crowded, True)):
        view = ClientState(NO_ROWS, sent, sent * 0, sent * 0, sent * 0, 0.0, 8.0)
        scene.state = msgspec.structs.replace(scene.state, client=view)
        found = {each.id: each for each in workload(scene)}["arrivals.bursty"]
        assert (found.strength >= 1) == bursty


def test_arrivals_are_counted_over_some_steps() -> None:
    """A step of a second and a half: who came while it ran is seen after it, and none in the interval before."""
    waits = {"seconds": 60, "waiting": 2, "queue_s": 1.0, "itl_ms": 1500, "steps": 0.66}
    scene = scene_of({**waits, "running": [20, 40, 20, 40, 20]})
    assert {each.id: each for each in workload(scene)}["arrivals.bursty"].value < 4 * 1.5
    quick = scene_of({**waits, "running": [20, 40, 20, 40, 20], "itl_ms": 15, "steps": 66})
    assert {each.id: each for each in workload(quick)}["arrivals.bursty"].value > 4 * 1.5

"""Growth of a process: a line counts, a bend does not; what a restart gave back; what the kernel killed."""

import pytest

from scenes import evidence_of, scene_of
from whystall.evidence.memory import steady_growth

LEAK = {"seconds": 40, "rss_gb": [1.0, 5.0]}


def test_a_line_is_a_leak_and_says_how_fast() -> None:
    found = evidence_of(LEAK)["memory.growth"]
    assert found.strength == 1.5
    assert found.value == pytest.approx(360, rel=0.1)  # 0.1 GB a second
    assert "GB" in found.text.en


def test_a_level_or_a_bend_is_none() -> None:
    assert evidence_of({"seconds": 40, "rss_gb": [2.0, 2.01]})["memory.growth"].strength < 0
    warm = [{"seconds": 10, "rss_gb": [1.0, 2.0]}, {"seconds": 60, "rss_gb": [2.0, 2.0]}]
    assert evidence_of(*warm)["memory.growth"].strength < 0


def test_a_leak_that_begins_late_is_found_from_there_on() -> None:
    scene = scene_of({"seconds": 60, "rss_gb": [1.0, 1.0]}, LEAK)
    growth = steady_growth(scene, "APIServer", scene.state.resident_bytes)
    assert growth is not None
    assert growth.seconds == pytest.approx(40, abs=14)


@pytest.mark.parametrize(("after", "sign"), [(1.0, 1), (5.0, -1)])
def test_what_the_restart_gave_back(after: float, sign: int) -> None:
    found = evidence_of(LEAK, {"seconds": 20, "away": True}, {"seconds": 20, "rss_gb": [after, after]})
    assert found["memory.dropped"].strength * sign > 0
    assert "memory.dropped" not in evidence_of(LEAK)


def test_a_process_that_was_killed_for_memory() -> None:
    killed = "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor."
    assert evidence_of({}, log=[[5.0, killed]])["log.killed"].strength == 1.0
    assert evidence_of({}, log=[[5.0, killed.replace("-9", "1")]])["log.killed"].strength < 0
    assert "log.killed" not in evidence_of({})

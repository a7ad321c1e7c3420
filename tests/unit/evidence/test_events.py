from __future__ import annotations

import msgspec
import pytest

from scenes import scene_of
from whystall.evidence.events import KINDS, events
from whystall.model.configuration import LogEvent
from whystall.model.diagnosis import Evidence
from whystall.sources.dialects.vllm_log import EVENTS

STOP = {"seconds": 40, "stopped": True}


def seen(*dated: tuple[str, float]) -> dict[str, Evidence]:
    scene = scene_of({}, STOP)
    lines = tuple(LogEvent(name, scene.state.start + t, "") for name, t in dated)
    scene.state = msgspec.structs.replace(scene.state, events=lines, signals=("metrics", "log"))
    return {evidence.id: evidence for evidence in events(scene)}


def test_a_death_beside_the_stop_speaks_for_it_with_its_time() -> None:
    found = seen(("engine_dead", 21.0), ("worker_dead", 22.0))["log.engine_dead"]
    assert (found.strength, found.value, found.anomaly) == (1.5, 2, True)
    assert found.onset is not None
    assert found.onset.seconds == 21


def test_a_line_of_long_before_the_incident_says_little() -> None:
    assert seen(("jit_compile", 1.0))["log.jit_compile"].strength < 0.5


def test_a_log_without_the_line_speaks_against_every_kind() -> None:
    assert {evidence.strength for evidence in seen().values()} == {-0.5}


def test_without_a_log_nothing_is_said() -> None:
    assert list(events(scene_of({}, STOP))) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)
def test_every_kind_is_fed_by_events_that_the_log_reader_knows(kind) -> None:
    assert set(kind.events) <= {pattern.id for pattern in EVENTS}

import msgspec

from scenes import evidence_of, scene_of
from whystall.evidence.log import log
from whystall.model.configuration import LogEvent
from whystall.model.diagnosis import Evidence

STOP = {"seconds": 8, "stopped": True}


def with_window(first: float, last: float, *phases: dict) -> dict[str, Evidence]:
    scene = scene_of(*phases)
    start = scene.state.start
    events = (LogEvent("profiler_start", start + first, ""), LogEvent("profiler_stop", start + last, ""))
    scene.state = msgspec.structs.replace(scene.state, events=events, signals=("metrics", "log"))
    return {evidence.id: evidence for evidence in log(scene)}


def test_a_profiler_window_around_a_standstill() -> None:
    found = with_window(18, 22, {}, STOP, {})["log.profiler"]
    assert found.strength == 1.5
    assert found.onset is not None
    assert found.onset.seconds == 18


def test_a_profiler_window_elsewhere_says_little() -> None:
    assert with_window(1, 2, {"seconds": 40}, STOP, {})["log.profiler"].strength < 0.5


def test_a_log_without_one_speaks_against_and_no_log_says_nothing() -> None:
    scene = scene_of({})
    scene.state = msgspec.structs.replace(scene.state, signals=("metrics", "log"))
    assert {e.id: e for e in log(scene)}["log.profiler"].strength == -1.0
    assert "log.profiler" not in evidence_of({})


def test_eager_by_the_arguments() -> None:
    argv = ["vllm", "serve", "m", "--enforce-eager"]
    assert evidence_of({}, argv=argv)["config.eager"].strength == 1.0
    assert evidence_of({})["config.eager"].strength == -1.0

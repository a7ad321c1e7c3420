import numpy as np

from cases.window import recording_of
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Limit
from whystall.model.timeline import TimelinePanel
from whystall.state.engine import engine_states
from whystall.state.timeline import timeline

PHASE = {"seconds": 10, "running": 8, "waiting": 3, "kv": 0.4, "rate": 2.0, "itl_ms": 10, "queue_s": 1.0}


def panels(*limits: Limit, **changed: object) -> dict[str, TimelinePanel]:
    (state,) = engine_states(recording_of({"phases": [{**PHASE, **changed}]}), Configuration(limits=limits))
    picture = timeline(state)
    assert len(picture.t) == 10
    assert all(len(line.values) == len(picture.t) for panel in picture.panels for line in panel.lines)
    return {panel.id: panel for panel in picture.panels}


def seats(value: float) -> Limit:
    return Limit("max_num_seqs", value, "reported", "log")


def test_what_was_seen_is_drawn() -> None:
    found = panels()
    assert list(found) == ["requests", "kv", "tokens", "ttft", "itl"]
    assert [line.id for line in found["requests"].lines] == ["running", "waiting"]
    assert np.allclose(found["tokens"].lines[1].values, 800)
    assert np.allclose(found["ttft"].lines[1].values, 1.0)


def test_the_seats_are_a_line_where_they_are_near() -> None:
    assert panels(seats(16))["requests"].lines[0].limit == 16
    assert panels(seats(1024))["requests"].lines[0].limit is None
    assert panels(waiting=0)["requests"].lines[0].limit is None


def test_panels_that_come_with_their_events() -> None:
    assert "preemptions" in panels(preemptions=1)
    assert "rejections" in panels(refused=1)
    gpu = panels(gpu={"power": 300, "limit": 700})["gpu"]
    assert (gpu.lines[0].limit, gpu.unit) == (700, "W")
    assert np.allclose(gpu.lines[0].values, 300)

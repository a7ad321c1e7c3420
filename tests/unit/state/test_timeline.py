import msgspec
import numpy as np

import hostile
from states import blank, state_of
from whystall.model.text import Text
from whystall.pipeline import states_of
from whystall.state.timeline import timeline

PHASE = {"seconds": 20, "running": 10, "waiting": 2, "kv": 0.5, "rate": 5}


def panels(state):
    return {panel.id: panel for panel in timeline(state).panels}


def test_every_line_is_as_long_as_the_time_and_holds_something():
    (state,) = states_of(hostile.incident())
    picture = timeline(state)
    assert picture.start == state.start
    for panel in picture.panels:
        assert panel.lines
        for line in panel.lines:
            assert len(line.values) == len(picture.t)
            assert np.isfinite(line.values).any()
    assert [panel.id for panel in picture.panels] == ["requests", "kv", "tokens", "ttft", "itl", "preemptions", "gpu"]


def test_the_seat_cap_is_drawn_only_where_it_does_not_flatten_the_picture():
    near, far = (state_of(PHASE, argv=("--max-num-seqs", seats)) for seats in ("16", "256"))
    assert [panels(state)["requests"].lines[0].limit for state in (near, far)] == [16, None]


def test_panels_of_what_was_not_seen_are_left_out():
    assert timeline(blank(np.ones(5))).panels == ()
    state = msgspec.structs.replace(state_of(PHASE), kv_usage_end=np.full(20, np.nan), prefix_queries=np.zeros(20))
    assert "kv" not in panels(state)
    assert "preemptions" not in panels(state)


def test_refusals_have_a_panel_when_there_are_some():
    assert "rejections" in panels(state_of({**PHASE, "refused": 1}))
    assert "rejections" not in panels(state_of(PHASE))


def test_the_queue_limit_is_drawn_where_it_refuses():
    argv = ("--max-num-queued-reqs", "12")
    refusing, calm = (state_of({**PHASE, "refused": refused}, argv=argv) for refused in (1, 0))
    line = panels(refusing)["requests"].lines[0]
    assert (line.limit, line.limit_label) == (12, Text("max_num_queued_reqs"))
    assert panels(calm)["requests"].lines[0].limit_label != Text("max_num_queued_reqs")

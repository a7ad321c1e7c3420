"""Ray's timeline of tasks: a real one, one with a slow node, and damaged ones."""

from __future__ import annotations

import json

import pytest

from whystall.errors import NotATrace
from whystall.profiles.files import TraceOptions, report_of
from whystall.profiles.ray_tasks import summarise_tasks
from whystall.profiles.recognise import recognise
from whystall.reports.trace_ray import ray_task_sheets
from whystall.reports.trace_text import render_trace


def event(step, node, dur, function="f", start=1e15):
    return {"ph": "X", "name": step, "cat": step, "pid": node, "tid": 0, "ts": start, "dur": dur,
            "args": {"func_or_class_name": function}}  # fmt: skip


def test_a_real_timeline(shared):
    path = shared / "samples" / "ray-2.60" / "v0_timeline.json"
    assert recognise(path) == "ray_tasks"
    report = report_of([path], TraceOptions())
    tasks = report.files[0].tasks
    assert tasks.tasks == 12
    assert [sheet.id for sheet in ray_task_sheets(report.files[0], "zh")] == ["tasks", "nodes"]
    by_name = {row.function: row for row in tasks.functions}
    assert by_name["task"].count == 8
    events = [e for e in json.loads(path.read_text()) if e["name"] == "task:execute"]
    own = [e["dur"] for e in events if e["args"]["func_or_class_name"] == "task"]
    assert by_name["task"].execute_ns == pytest.approx(sum(own) * 1e3, rel=1e-6)
    assert [node.node for node in tasks.nodes] == ["10.0.0.7"]
    assert tasks.nodes[0].slower is None
    for lang in ("en", "zh"):
        assert "Worker.step" in render_trace(report, lang, 140)


def test_a_slow_node_is_named():
    names = [{"ph": "M", "name": "process_name", "pid": n, "args": {"name": f"Node 10.0.0.{n}"}} for n in (1, 2, 3)]
    runs = [event("task:execute", n, 100.0 * (5 if n == 3 else 1)) for n in (1, 2, 3) for _ in range(5)]
    found = summarise_tasks(json.dumps(names + runs).encode(), "t")
    assert "node 10.0.0.3 take 5.0 times" in found.text.en
    assert "10.0.0.3" in found.text.zh


def test_arguments_that_take_longer_than_the_work():
    events = [event("task:deserialize_arguments", 1, 900.0), event("task:execute", 1, 100.0)]
    found = summarise_tasks(json.dumps(events).encode(), "t")
    assert found.functions[0].arguments_share == 0.9
    assert "90% of its time fetching" in found.text.en


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'[{"ph": "X", "name": "task:execute", "ts": 1', "stops in the middle"),
        (b'{"task:execute": 1}', "no timeline"),
        (b"[" * 100_000, "t "),
        (b"[]", "no task that ran"),
        (b'[{"ph": "X", "name": "task:execute", "ts": -1, "dur": -5}]', "no task that ran"),
    ],
)
def test_damage_is_named(body, said):
    with pytest.raises(NotATrace, match=said):
        summarise_tasks(body, "t")

"""Ray's Chrome timeline of tasks: what each function's tasks waited for, how long they ran, which node was slow.

``task:deserialize_arguments`` is the time in which a worker fetched and unpacked a task's arguments, ``task:execute`` the
function itself, ``task:store_outputs`` the packing of what it gave back.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whystall.errors import NotATrace
from whystall.model.text import Text

from .bytestream import ByteStream, ReadLimits

_STEPS = {
    "task:deserialize_arguments": "arguments",
    "task:execute": "execute",
    "task:store_outputs": "outputs",
}
_LIMIT = 256 * 1024 * 1024  # Ray keeps some 10,000 tasks a job, of four events each
_SLOW = 2.0  # a node whose median is over twice the others' is named


class _Event(msgspec.Struct, frozen=True):
    ph: str = ""
    name: str = ""
    cat: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float = 0.0
    dur: float = 0.0
    args: dict[str, Any] = {}


class TaskTime(msgspec.Struct, frozen=True):
    """All tasks of one function: how many, and the time in each step, ns; shares are of the three together."""

    function: str
    count: int
    arguments_ns: int
    execute_ns: int
    outputs_ns: int
    execute_p50_ns: float
    execute_p99_ns: float
    arguments_share: float


class TaskNode(msgspec.Struct, frozen=True):
    """One node: tasks that ran on it and their median time against that of the same functions elsewhere."""

    node: str
    workers: int
    tasks: int
    execute_p50_ns: float
    slower: float | None


class TaskSummary(msgspec.Struct, frozen=True):
    """The whole timeline. ``text`` says what its time went to."""

    tasks: int
    window_ns: int
    functions: tuple[TaskTime, ...]
    nodes: tuple[TaskNode, ...]
    text: Text


class _Step(msgspec.Struct, frozen=True):
    function: str
    step: str
    node: str
    worker: str
    start_us: float
    duration_us: float


def read_ray_tasks(path: Path) -> TaskSummary:
    """The summary of a saved timeline. Raises :class:`NotATrace` where it is none, or is cut."""
    with ByteStream(path, ReadLimits(max_bytes=_LIMIT)) as stream:
        body = b"".join(iter(stream.read, b""))
    return summarise_tasks(body, path.name)


def summarise_tasks(body: bytes, name: str) -> TaskSummary:
    """As :func:`read_ray_tasks`, of what ``/api/v0/tasks/timeline`` answered."""
    try:
        events = msgspec.json.decode(body, type=list[_Event])
    except (msgspec.DecodeError, RecursionError) as error:
        what = "stops in the middle of Ray's timeline" if "truncated" in str(error) else "is no timeline of Ray's tasks"
        raise NotATrace(f"{name} {what}", "Save it anew: curl http://HOST:8265/api/v0/tasks/timeline") from None
    steps = list(_steps(events))
    if not steps:
        raise NotATrace(f"{name} has no task that ran", "Ray keeps the tasks of the last jobs only; take it sooner.")
    functions, nodes = _functions(steps), _nodes(steps)
    starts, ends = [s.start_us for s in steps], [s.start_us + s.duration_us for s in steps]
    count = sum(row.count for row in functions)
    return TaskSummary(count, round((max(ends) - min(starts)) * 1e3), functions, nodes, _text(functions, nodes, count))


def _steps(events: Iterable[_Event]) -> Iterable[_Step]:
    names = {e.pid: str(e.args.get("name", "")) for e in events if e.ph == "M" and e.name == "process_name"}
    for event in events:
        step = _STEPS.get(event.name) or _STEPS.get(event.cat)
        usable = event.ph == "X" and step and 0 < event.ts < 1e17 and 0 <= event.dur < 1e13
        if usable and step:
            function = str(event.args.get("func_or_class_name") or "?")[:200]
            node = names.get(event.pid, str(event.pid)).removeprefix("Node ")[:100]
            yield _Step(function, step, node, f"{event.pid}/{event.tid}", event.ts, event.dur)


def _functions(steps: list[_Step]) -> tuple[TaskTime, ...]:
    found: dict[str, dict[str, list[float]]] = {}
    for step in steps:
        found.setdefault(step.function, {}).setdefault(step.step, []).append(step.duration_us * 1e3)
    rows = [_function(name, parts) for name, parts in found.items()]
    return tuple(sorted(rows, key=lambda row: -(row.execute_ns + row.arguments_ns + row.outputs_ns)))


def _function(name: str, parts: dict[str, list[float]]) -> TaskTime:
    sums = {step: round(sum(parts.get(step, []))) for step in ("arguments", "execute", "outputs")}
    ran = parts.get("execute", [0.0])
    return TaskTime(
        function=name,
        count=max(len(values) for values in parts.values()),
        arguments_ns=sums["arguments"],
        execute_ns=sums["execute"],
        outputs_ns=sums["outputs"],
        execute_p50_ns=float(np.median(ran)),
        execute_p99_ns=float(np.quantile(ran, 0.99)),
        arguments_share=sums["arguments"] / max(sum(sums.values()), 1),
    )


def _nodes(steps: list[_Step]) -> tuple[TaskNode, ...]:
    ran = [step for step in steps if step.step == "execute"]
    nodes = sorted({step.node for step in ran})
    return tuple(_node(node, ran) for node in nodes)


def _node(node: str, ran: list[_Step]) -> TaskNode:
    """``slower``: the median, over the functions that ran here and elsewhere, of the ratio of their medians."""
    here = [step for step in ran if step.node == node]
    ratios = []
    for function in {step.function for step in here}:
        own = [s.duration_us for s in here if s.function == function]
        others = [s.duration_us for s in ran if s.function == function and s.node != node]
        if others and np.median(others) > 0:
            ratios.append(float(np.median(own) / np.median(others)))
    return TaskNode(
        node,
        len({step.worker for step in here}),
        len(here),
        float(np.median([step.duration_us for step in here])) * 1e3,
        float(np.median(ratios)) if ratios else None,
    )


def _text(functions: tuple[TaskTime, ...], nodes: tuple[TaskNode, ...], count: int) -> Text:
    slow = max((node for node in nodes if node.slower), key=lambda node: node.slower or 0.0, default=None)
    if slow is not None and (slow.slower or 0.0) > _SLOW:
        return Text(
            "Tasks on node {node} take {times:.1f} times as long as the same tasks elsewhere.",
            "节点 {node} 上的任务耗时是其他节点上同类任务的 {times:.1f} 倍。",
        ).format(node=slow.node, times=slow.slower)
    first = functions[0]
    if first.arguments_ns > first.execute_ns:
        return Text(
            "{n} Ray tasks; {name} spends {share:.0%} of its time fetching and unpacking arguments.",
            "{n} 个 Ray 任务；{name} 有 {share:.0%} 的时间用于获取和解包参数。",
        ).format(n=count, name=first.function, share=first.arguments_share)
    return Text(
        "{n} Ray tasks; most of the time goes to {name}, {ms:.1f} ms each at the median.",
        "{n} 个 Ray 任务；耗时最多的是 {name}，每个中位数 {ms:.1f} 毫秒。",
    ).format(n=count, name=first.function, ms=first.execute_p50_ns / 1e6)

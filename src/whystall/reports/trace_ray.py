"""Tables of a Ray timeline: the tasks by function, the nodes."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.profiles.report import FileReport

from .trace_sheet import TOP, Sheet, ns, share

_FUNCTIONS = (
    Text("function", "函数"),
    Text("tasks", "任务数"),
    Text("p50", "p50"),
    Text("p99", "p99"),
    Text("arguments", "取参数"),
    Text("runs", "执行"),
    Text("outputs", "存结果"),
    Text("arg. share", "取参数占比"),
)
_NODES = (
    Text("node", "节点"),
    Text("workers", "工作进程"),
    Text("tasks", "任务数"),
    Text("p50", "p50"),
    Text("against others", "与其他节点之比"),
)


def ray_task_sheets(file: FileReport, lang: str) -> list[Sheet]:
    """Tasks by function, and the nodes that they ran on."""
    found = file.tasks
    if found is None:
        return []
    functions = tuple(
        (
            row.function[-80:],
            f"{row.count:,}",
            ns(row.execute_p50_ns),
            ns(row.execute_p99_ns),
            ns(row.arguments_ns),
            ns(row.execute_ns),
            ns(row.outputs_ns),
            share(row.arguments_share),
        )
        for row in found.functions[:TOP]
    )
    nodes = tuple(
        (
            row.node,
            f"{row.workers}",
            f"{row.tasks:,}",
            ns(row.execute_p50_ns),
            "–" if row.slower is None else f"{row.slower:.2f}",
        )
        for row in found.nodes[:TOP]
    )
    return [
        Sheet("tasks", Text("Ray's tasks", "Ray 任务").in_(lang), _cells(_FUNCTIONS, lang), functions, "lrrrrrrr"),
        Sheet("nodes", Text("Nodes", "节点").in_(lang), _cells(_NODES, lang), nodes, "lrrrr"),
    ]


def _cells(texts: tuple[Text, ...], lang: str) -> tuple[str, ...]:
    return tuple(text.in_(lang) for text in texts)

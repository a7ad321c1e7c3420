"""Two timelines side by side: what takes longer, what is new, what is gone. Per step where both have steps."""

from __future__ import annotations

from typing import Literal

import msgspec

from whystall.model.text import Text

from .summary import PhaseTime, TraceSummary


class FigureChange(msgspec.Struct, frozen=True):
    """One figure of both, ``unit`` ns, ratio or count; None where one has none."""

    id: str
    title: Text
    unit: str
    a: float | None
    b: float | None

    @property
    def change(self) -> float | None:
        """Relative: 0.5 is half as much again."""
        return self.b / self.a - 1 if self.a and self.b is not None else None


class KernelChange(msgspec.Struct, frozen=True):
    """One kernel, ns and launches per step (or in all). A count of 0 says that the side does not have it."""

    name: str
    class_id: str = msgspec.field(name="class")
    a_ns: float
    b_ns: float
    a_count: float
    b_count: float

    @property
    def change_ns(self) -> float:
        return self.b_ns - self.a_ns


class TraceDiff(msgspec.Struct, frozen=True):
    """The JSON contract ``whystall.trace_diff/1``. ``per`` is what kernels are counted by."""

    a: str
    b: str
    headline: Text
    per: Literal["step", "trace"]
    figures: tuple[FigureChange, ...]
    phases: tuple[FigureChange, ...]
    classes: tuple[KernelChange, ...]
    kernels: tuple[KernelChange, ...]
    schema: Literal["whystall.trace_diff/1"] = "whystall.trace_diff/1"


def diff(a: TraceSummary, b: TraceSummary) -> TraceDiff:
    """From ``a`` to ``b``; rows are sorted by how much they changed."""
    steps = [sum(1 for step in side.steps if step.kernels) for side in (a, b)]
    per: Literal["step", "trace"] = "step" if all(steps) else "trace"
    scale = [float(count) if per == "step" else 1.0 for count in steps]
    kernels = _rows(
        {row.name: (row.class_id, row.ns / scale[0], row.count / scale[0]) for row in a.kernels},
        {row.name: (row.class_id, row.ns / scale[1], row.count / scale[1]) for row in b.kernels},
    )
    classes = _rows(
        {row.id: (row.id, row.ns / scale[0], row.count / scale[0]) for row in a.classes},
        {row.id: (row.id, row.ns / scale[1], row.count / scale[1]) for row in b.classes},
    )
    return TraceDiff(a.file, b.file, _headline(classes, per), per, _figures(a, b), _phases(a, b), classes, kernels)


Side = dict[str, tuple[str, float, float]]


def _rows(a: Side, b: Side) -> tuple[KernelChange, ...]:
    rows = []
    for name in a.keys() | b.keys():
        kind, a_ns, a_count = a.get(name, ("", 0.0, 0.0))
        other, b_ns, b_count = b.get(name, ("", 0.0, 0.0))
        rows.append(KernelChange(name, kind or other, a_ns, b_ns, a_count, b_count))
    return tuple(sorted(rows, key=lambda row: (-abs(row.change_ns), row.name)))


def _figures(a: TraceSummary, b: TraceSummary) -> tuple[FigureChange, ...]:
    def of(id: str, title: Text, unit: str, values: list[float | None]) -> FigureChange:
        return FigureChange(id, title, unit, *values)

    both = (a, b)
    return (
        of("busy", Text("GPU busy", "GPU 忙"), "ratio", [side.busy_ratio for side in both]),
        of("window", Text("window", "窗口"), "ns", [side.window_ns for side in both]),
        of("launch", Text("idle, waiting for launches", "空闲，等待启动"), "ns", [s.idle.launch_ns for s in both]),
        of("between", Text("idle, between steps", "空闲，步骤之间"), "ns", [s.idle.between_steps_ns for s in both]),
        of("kernels", Text("kernels", "内核数"), "count", [side.launches.kernels for side in both]),
        of("mean_kernel", Text("mean kernel", "平均内核时长"), "ns", [s.launches.mean_kernel_ns for s in both]),
        of("exposed", Text("exposed communication", "未掩盖的通信"), "ns", [_exposed(side) for side in both]),
    )


def _exposed(side: TraceSummary) -> float | None:
    return side.communication.exposed_ns if side.communication else None


def _phases(a: TraceSummary, b: TraceSummary) -> tuple[FigureChange, ...]:
    sides = [{phase.phase: phase for phase in side.phases if phase.steps} for side in (a, b)]
    names = [name for name in ("prefill", "mixed", "decode", "other") if name in sides[0] or name in sides[1]]
    return tuple(row for name in names for row in _phase(name, sides[0].get(name), sides[1].get(name)))


def _phase(name: str, a: PhaseTime | None, b: PhaseTime | None) -> tuple[FigureChange, ...]:
    both = (a, b)
    gpu = [side.busy_p50_ns if side else None for side in both]
    host = [side.host_p50_ns if side else None for side in both]
    title = Text(f"{name} step", f"{name} 步")
    return (
        FigureChange(f"{name}_gpu", Text("{t}, GPU busy, median", "{t}，GPU 忙，中位数").format(t=title), "ns", *gpu),
        FigureChange(f"{name}_host", Text("{t}, host, median", "{t}，主机，中位数").format(t=title), "ns", *host),
    )


def _headline(classes: tuple[KernelChange, ...], per: str) -> Text:
    total = [sum(row.a_ns for row in classes), sum(row.b_ns for row in classes)]
    if not classes or not total[0]:
        return Text("Nothing to compare.", "没有可比较的内容。")
    top = classes[0]
    text = Text(
        "GPU time per {per} goes from {a:.3f} to {b:.3f} ms ({change:+.0%}); most of that is {name} ({part:+.3f} ms).",
        "每{per}的 GPU 时间从 {a:.3f} 变为 {b:.3f} 毫秒（{change:+.0%}）；其中变化最大的是 {name}（{part:+.3f} 毫秒）。",
    )
    unit = Text("step", "步") if per == "step" else Text("trace", "份 trace")
    change = total[1] / total[0] - 1
    return text.format(
        per=unit, a=total[0] / 1e6, b=total[1] / 1e6, change=change, name=top.name, part=top.change_ns / 1e6
    )

"""What a profile of the server says, beside the pages of the same time or of another."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text
from whystall.profiles.figures import TraceFigures

from .scene import Scene
from .thresholds import ramp


class TraceNumber(msgspec.Struct, frozen=True):
    """A figure of :class:`TraceFigures`, the evidence made of it, and between which values its strength goes 0 to 1."""

    figure: str
    id: str
    zero: float
    full: float
    reason: str
    text: Text


NUMBERS = (
    TraceNumber(
        "launch_idle_ratio",
        "trace.launch_gaps",
        0.1,
        0.3,
        "a third of the time lost to launches is what graphs give back",
        Text("kernels wait for their launches {value:.0%} of the time", "{value:.0%} 的时间内核在等待启动"),
    ),
    TraceNumber(
        "between_steps_idle_ratio",
        "trace.step_gaps",
        0.1,
        0.3,
        "a healthy asynchronous scheduler leaves a few percent between steps",
        Text("the GPU is idle between steps {value:.0%} of the time", "GPU 在步与步之间空闲 {value:.0%} 的时间"),
    ),
    TraceNumber(
        "exposed_collective_ratio",
        "trace.exposed_collectives",
        0.1,
        0.25,
        "a fifth of the time is the least that is worth naming",
        Text(
            "collectives with nothing beside them take {value:.0%} of the time",
            "未被掩盖的集合通信占 {value:.0%} 的时间",
        ),
    ),
    TraceNumber(
        "skew_ratio",
        "trace.skew",
        0.5,
        0.8,
        "healthy ranks wait for each other up to about 0.6 of short collectives (two H200, measured)",
        Text(
            "{value:.0%} of the collectives' time is waiting for the last rank",
            "集合通信时间的 {value:.0%} 在等待最慢的 rank",
        ),
    ),
    TraceNumber(
        "moe_spread",
        "trace.moe_spread",
        1.1,
        1.4,
        "the gain of a perfect balance is the spread less one",
        Text(
            "the busiest rank computes experts {value:.2f} times as long as the mean",
            "最忙 rank 的专家计算时间是平均的 {value:.2f} 倍",
        ),
    ),
    TraceNumber(
        "memory_bandwidth_ratio",
        "trace.bandwidth",
        0.4,
        0.65,
        "kernels reach 60 to 85% of the data sheet when memory binds them",
        Text("kernels reach {value:.0%} of the memory bandwidth", "内核达到显存带宽的 {value:.0%}"),
    ),
    TraceNumber(
        "prefill_gpu_share",
        "trace.prefill",
        0.4,
        0.8,
        "as prefill.busy",
        Text("steps of pure prefill take {value:.0%} of the GPU's time", "纯预填充步占 GPU 时间的 {value:.0%}"),
    ),
    TraceNumber(
        "sampling_gpu_share",
        "trace.sampling",
        0.08,
        0.2,
        "sampling of a normal batch takes a few percent",
        Text("sampling takes {value:.0%} of the GPU's time", "采样占 GPU 时间的 {value:.0%}"),
    ),
    TraceNumber(
        "profiler_overhead_ratio",
        "trace.overhead",
        0.05,
        0.2,
        "what the profiler itself took of the window",
        Text("the profiler took {value:.0%} of its own window", "分析器自身占其窗口的 {value:.0%}"),
    ),
)

# A busy GPU in the trace and an idle one on the pages, or the other way round, by this much contradict each other.
_CONTRADICTS = 0.4


def trace(scene: Scene) -> Iterator[Evidence]:
    """One piece of evidence a figure that the trace tells."""
    figures = scene.trace
    if figures is None:
        return
    for number in NUMBERS:
        value = getattr(figures, number.figure)
        if value is None:
            continue
        strength = ramp(value, number.zero, number.full)
        yield scene.evidence(number.id, value, "ratio", strength, number.text.format(value=value), "trace")


def contradiction(figures: TraceFigures | None, evidence: dict[str, Evidence]) -> Text | None:
    """A sentence where trace and pages disagree on how busy the GPU is; None where they agree or one is missing."""
    gap = evidence.get("step.host_gap")
    if figures is None or figures.busy_ratio is None or gap is None or gap.value is None:
        return None
    pages = 1 - gap.value
    if abs(pages - figures.busy_ratio) < _CONTRADICTS:
        return None
    text = Text(
        "the trace has the GPU busy {trace:.0%} of the time, the pages {pages:.0%}: they are not of the same load",
        "跟踪显示 GPU 忙碌 {trace:.0%}，页面显示 {pages:.0%}：两者不是同一负载",
    )
    return text.format(trace=figures.busy_ratio, pages=pages)

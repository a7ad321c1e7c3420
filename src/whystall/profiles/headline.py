"""One sentence for a set of files: what the step's time goes to."""

from __future__ import annotations

from collections.abc import Sequence

from whystall.model.text import Text

from .kernels import FAMILIES
from .ranks import RankComparison
from .report import FileReport
from .spans import PHASE_NAMES, SpanSummary
from .summary import TraceSummary

_IDLE, _LARGE = 0.3, 0.2


def headline(files: Sequence[FileReport], ranks: RankComparison | None) -> Text:
    """Ranks before a timeline before spans: the sentence that says most."""
    if ranks is not None and ranks.straggler is not None:
        return ranks.text
    timelines = [file.timeline for file in files if file.timeline is not None and file.timeline.rows]
    if timelines:
        return _timeline(max(timelines, key=lambda summary: summary.busy_ns))
    spans = next((file.spans for file in files if file.spans is not None), None)
    if spans is not None and spans.requests:
        return _spans(spans)
    return _other(files)


def _timeline(summary: TraceSummary) -> Text:
    busy = summary.busy_ratio or 0.0
    idle = summary.idle
    total = summary.busy_ns + idle.idle_ns
    if total and idle.idle_ns / total > _IDLE:
        parts = {
            "launch": idle.launch_ns,
            "between": idle.between_steps_ns,
            "copy": idle.copy_ns,
            "device": idle.device_ns,
        }
        largest = max(parts, key=lambda name: parts[name])
        why = _IDLE_WHY[largest].format(share=parts[largest] / total)
        return Text(
            "The GPU is busy {busy:.0%} of {window:span}; {why}.",
            "GPU 在 {window:span}中有 {busy:.0%} 的时间在忙；{why}。",
        ).format(busy=busy, window=summary.window_ns / 1e9, why=why)
    comm = summary.communication
    if comm is not None and comm.union_ns and comm.exposed_ns / max(summary.busy_ns, 1) > _LARGE:
        return Text(
            "The GPU is busy {busy:.0%} of the time, and {share:.0%} of that is collectives with nothing beside them.",
            "GPU 有 {busy:.0%} 的时间在忙，其中 {share:.0%} 是没有被计算掩盖的集合通信。",
        ).format(busy=busy, share=comm.exposed_ns / summary.busy_ns)
    first, *_ = summary.families
    return Text(
        "The GPU is busy {busy:.0%} of the time; {name} takes the most of it, {share:.0%}.",
        "GPU 有 {busy:.0%} 的时间在忙；占比最大的是 {name}，{share:.0%}。",
    ).format(busy=busy, name=FAMILIES.get(first.id, first.title), share=first.share)


_IDLE_WHY = {
    "launch": Text(
        "{share:.0%} of the time it waits for the host to launch the next kernel (launch-bound)",
        "{share:.0%} 的时间在等主机启动下一个内核（受启动限制）",
    ),
    "between": Text(
        "{share:.0%} of the time it waits for the host between two steps",
        "{share:.0%} 的时间在等两个步骤之间的主机工作",
    ),
    "copy": Text("{share:.0%} of the time the host sits in a blocking copy", "{share:.0%} 的时间主机卡在阻塞式拷贝里"),
    "device": Text(
        "{share:.0%} of the time work already launched waits on the GPU (dependencies)",
        "{share:.0%} 的时间已启动的任务在 GPU 上等待（依赖）",
    ),
}


def _spans(spans: SpanSummary) -> Text:
    phases = sorted(spans.phases, key=lambda phase: -phase.mean_ns)
    if not phases:
        return Text("{n:one request|# requests} without phases.", "{n} 个请求，没有阶段信息。").format(
            n=len(spans.requests)
        )
    total = sum(phase.mean_ns for phase in phases)
    text = Text(
        "{n:one request|# requests} spent {share:.0%} of their time in {phase}; the slowest grow most in {tail}.",
        "{n} 个请求有 {share:.0%} 的时间在 {phase}；最慢的请求主要慢在 {tail}。",
    )
    tail = PHASE_NAMES[spans.tail_phase] if spans.tail_phase else Text("no single phase", "没有单一阶段")
    share = phases[0].mean_ns / total if total else 0.0
    return text.format(n=len(spans.requests), share=share, phase=PHASE_NAMES[phases[0].phase], tail=tail)


def _other(files: Sequence[FileReport]) -> Text:
    for file in files:
        if file.calls is not None and file.calls.groups:
            busy = [row for row in file.calls.groups if row.busy_share is not None]
            top = max(busy, key=lambda row: row.seconds, default=file.calls.groups[0])
            return Text(
                "Of the Python time not spent waiting, {share:.0%} is {name}.",
                "Python 非等待时间中，{share:.0%} 用于{name}。",
            ).format(share=top.busy_share or top.share, name=top.title)
        if file.counters is not None and file.counters.kernels:
            kernel = file.counters.kernels[0]
            return Text(
                "{n:one kernel|# kernels}; the longest, {name}, is bound by {bound}.",
                "{n} 个内核；最长的 {name} 受限于 {bound}。",
            ).format(n=len(file.counters.kernels), name=kernel.name[:60], bound=kernel.bound or "?")
        if file.tasks is not None:
            return file.tasks.text
        if file.iterations is not None:
            top_phase = max(file.iterations.phases, key=lambda row: row.seconds)
            return Text(
                "{n:one step|# steps}; {share:.0%} of their time in {phase} steps, {ms:.1f} ms each at the median.",
                "{n} 个步骤；{share:.0%} 的时间在 {phase} 步，中位数 {ms:.1f} 毫秒。",
            ).format(n=file.iterations.steps, share=top_phase.share, phase=top_phase.phase, ms=top_phase.p50_s * 1e3)
    return Text("Nothing to say of these files.", "这些文件没有可说的内容。")

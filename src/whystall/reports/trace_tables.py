"""What ``whystall trace`` found, as titled tables of text: the terminal, Markdown and HTML draw the same ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from whystall.model.text import Text
from whystall.profiles.report import FileReport, TraceReport
from whystall.profiles.summary import TraceSummary

from .figures import number
from .trace_other_tables import calls_sheets, counters_sheets, iterations_sheets, rank_sheets, spans_sheets
from .trace_ray import ray_task_sheets
from .trace_sheet import TOP, Sheet, ns, rate, share, size

_ALONE = "one_rank"  # not true where other ranks' files were given


def sheets(report: TraceReport, lang: str) -> list[Sheet]:
    """All tables of a report, file by file, then those across files."""
    found = list(rank_sheets(report, lang))
    for file in report.files:
        own = [sheet for make in _OF_A_FILE for sheet in make(file, lang)]
        found += own if len(report.files) == 1 else [_named_for(file, sheet) for sheet in own]
    return found


def _named_for(file: FileReport, sheet: Sheet) -> Sheet:
    """Which of several files a table is of."""
    return msgspec.structs.replace(sheet, title=f"{sheet.title} · {file.file}")


def about(file: FileReport, lang: str) -> str:
    """One line that says what a file is."""
    parts = [file.file, file.format]
    summary = file.timeline
    if summary is None:
        return " · ".join(parts)
    if summary.rank is not None and summary.world_size != 1:
        parts.append(
            Text("rank {r} of {n}", "rank {r}/{n}").format(r=summary.rank, n=summary.world_size or 1).in_(lang)
        )
    names = dict.fromkeys(device.name for device in summary.devices if device.id in summary.device_ids and device.name)
    count = len(summary.device_ids)
    if count > 1:
        parts.append(Text("{n} GPUs", "{n} 个 GPU").format(n=count).in_(lang))
    parts += [*names, ns(summary.window_ns)]
    parts.append(Text("{n:,} events", "{n:,} 个事件").format(n=summary.events).in_(lang))
    return " · ".join(parts)


def notes(report: TraceReport, lang: str) -> Iterator[tuple[str, str]]:
    """Level and sentence of every warning and note, each once."""
    seen: set[str] = set()
    ranks = report.ranks is not None
    for failed in report.failed:
        yield "warning", f"{failed.file}: {failed.text.in_(lang)}"
    for file in report.files:
        parts = (file.timeline, file.spans, file.counters, file.calls)
        own = [note for part in parts if part is not None for note in part.notes if not (ranks and note.id == _ALONE)]
        rows = [("warning", warning.text.in_(lang)) for warning in file.warnings]
        rows += [(note.level, note.text.in_(lang)) for note in own]
        for level, text in rows:
            if text not in seen:
                seen.add(text)
                yield level, text


def _timeline_sheets(file: FileReport, lang: str) -> list[Sheet]:
    summary = file.timeline
    if summary is None or not summary.rows:
        return []
    found = [_idle(summary, lang), _families(summary, lang), *_phases(summary, lang), _kernels(summary, lang)]
    found += [_launches(summary, lang), *_communication(summary, lang), *_copies(summary, lang)]
    return [*found, *_path(summary, lang), *_roofline(summary, lang), *_memory(summary, lang)]


_OF_A_FILE = (_timeline_sheets, counters_sheets, calls_sheets, spans_sheets, iterations_sheets, ray_task_sheets)


def _sheet(
    id: str, title: Text, header: tuple[Text, ...], rows: Sequence[tuple[str, ...]], align: str, lang: str
) -> Sheet:
    return Sheet(id, title.in_(lang), tuple(cell.in_(lang) for cell in header), tuple(rows), align)


_WHAT, _TIME, _SHARE, _COUNT = Text("what", "内容"), Text("time", "时间"), Text("share", "占比"), Text("count", "次数")


def _idle(summary: TraceSummary, lang: str) -> Sheet:
    idle = summary.idle
    rows = [
        (Text("GPU busy", "GPU 忙"), summary.busy_ns),
        (Text("waiting for a launch", "等待启动"), idle.launch_ns),
        (Text("host between steps", "步骤之间的主机工作"), idle.between_steps_ns),
        (Text("host in a blocking copy", "主机卡在阻塞式拷贝"), idle.copy_ns),
        (Text("launched, waiting on the GPU", "已启动，在 GPU 上等待"), idle.device_ns),
        (Text("launched before the window", "窗口前启动"), idle.unlinked_ns),
    ]
    total = summary.busy_ns + idle.idle_ns
    cells = [(text.in_(lang), ns(value), share(value / total if total else None)) for text, value in rows]
    header = (_WHAT, _TIME, Text("of the window", "占窗口"))
    return _sheet("time", Text("Where the GPU's time went", "GPU 时间去向"), header, cells, "lrr", lang)


def _families(summary: TraceSummary, lang: str) -> Sheet:
    rows = [(row.title.in_(lang), ns(row.ns), share(row.share), f"{row.count:,}") for row in summary.families]
    title = Text("GPU time by class", "按类别的 GPU 时间")
    return _sheet("classes", title, (Text("class", "类别"), _TIME, _SHARE, _COUNT), rows, "lrrr", lang)


def _phases(summary: TraceSummary, lang: str) -> list[Sheet]:
    if not summary.phases:
        return []
    names = {"outside": Text("outside any step", "不属于任何步骤").in_(lang)}
    rows = [
        (
            names.get(row.phase, row.phase),
            str(row.steps),
            share(row.share),
            ns(row.busy_p50_ns),
            ns(row.host_p50_ns),
            share(row.graph_share),
            ", ".join(f"{family.title.in_(lang)} {share(family.share)}" for family in row.families[:3]),
        )
        for row in summary.phases
    ]
    header = (
        Text("phase", "阶段"),
        Text("steps", "步数"),
        Text("GPU time", "GPU 时间"),
        Text("GPU p50", "GPU 中位数"),
        Text("host p50", "主机中位数"),
        Text("in graphs", "图内"),
        Text("most of it", "主要部分"),
    )
    return [_sheet("phases", Text("Steps by phase", "按阶段的步骤"), header, rows, "lrrrrrl", lang)]


def _kernels(summary: TraceSummary, lang: str) -> Sheet:
    rows = [
        (ns(row.ns), share(row.share), f"{row.count:,}", ns(row.mean_ns), ns(row.max_ns), row.class_id, row.name[:200])
        for row in summary.kernels[:TOP]
    ]
    header = (
        _TIME,
        _SHARE,
        _COUNT,
        Text("mean", "平均"),
        Text("longest", "最长"),
        Text("class", "类别"),
        Text("kernel", "内核"),
    )
    return _sheet("kernels", Text("Top kernels", "耗时最多的内核"), header, rows, "rrrrrll", lang)


def _launches(summary: TraceSummary, lang: str) -> Sheet:
    figures = summary.launches
    rows = [
        (Text("kernels", "内核"), f"{figures.kernels:,}"),
        (
            Text("kernels per second", "每秒内核数"),
            "–" if figures.kernels_per_s is None else number(figures.kernels_per_s),
        ),
        (Text("mean kernel", "平均内核时长"), ns(figures.mean_kernel_ns)),
        (Text("kernels under 5 µs", "短于 5 µs 的内核"), share(figures.short_kernels_share)),
        (Text("shorter than their launch", "比启动调用还短"), share(figures.shorter_than_launch_share)),
        (Text("launched by graphs", "由图启动"), f"{figures.graph_kernels:,} / {figures.graph_launches:,}"),
        (Text("from call to start, p50", "从调用到开始，中位数"), ns(figures.delay_p50_ns)),
        (Text("a launching call, p50", "启动调用，中位数"), ns(figures.call_p50_ns)),
    ]
    cells = [(text.in_(lang), value) for text, value in rows]
    return _sheet(
        "launches", Text("How work reached the GPU", "任务如何到达 GPU"), (_WHAT, Text("", "")), cells, "lr", lang
    )


def _communication(summary: TraceSummary, lang: str) -> list[Sheet]:
    comm = summary.communication
    if comm is None:
        return []
    cells = (f"{comm.count:,}", ns(comm.ns), share(comm.share), ns(comm.exposed_ns), share(comm.exposed_ratio))
    header = (_COUNT, _TIME, _SHARE, Text("exposed", "未掩盖"), Text("of it", "占比"), Text("bus", "总线"))
    rows = [(*cells, rate(comm.bus_bytes_per_s, "B/s"))]
    return [_sheet("collectives", Text("Collectives", "集合通信"), header, rows, "rrrrrr", lang)]


def _copies(summary: TraceSummary, lang: str) -> list[Sheet]:
    if not summary.copies:
        return []
    rows = [
        (
            f"{row.kind} {row.memory}".strip(),
            f"{row.count:,}",
            ns(row.ns),
            size(row.bytes),
            rate(row.bytes_per_s, "B/s"),
            f"{row.small:,}",
            ns(row.exposed_ns),
        )
        for row in summary.copies
    ]
    header = (
        Text("copy", "拷贝"),
        _COUNT,
        _TIME,
        Text("bytes", "字节"),
        Text("rate", "速率"),
        Text("under 64 KiB", "小于 64 KiB"),
        Text("exposed", "未掩盖"),
    )
    return [_sheet("copies", Text("Copies and sets", "拷贝与清零"), header, rows, "lrrrrrr", lang)]


def _path(summary: TraceSummary, lang: str) -> list[Sheet]:
    path = summary.critical_path
    if path is None:
        return []
    rows = [
        (Text("on the GPU", "在 GPU 上"), path.gpu_ns),
        (Text("between work on the GPU", "GPU 任务之间"), path.queue_ns),
        (Text("from launch to start", "从启动到开始"), path.launch_ns),
        (Text("on the host, in steps", "主机，步骤内"), path.host_in_steps_ns),
        (Text("on the host, between steps", "主机，步骤之间"), path.host_ns - path.host_in_steps_ns),
    ]
    cells = [
        (text.in_(lang), ns(value), share(value / path.total_ns if path.total_ns else None)) for text, value in rows
    ]
    return [_sheet("path", Text("Critical path", "关键路径"), (_WHAT, _TIME, _SHARE), cells, "lrr", lang)]


def _roofline(summary: TraceSummary, lang: str) -> list[Sheet]:
    rows = [
        (
            row.operation,
            f"{row.count:,}",
            ns(row.ns),
            rate(row.flop_per_s, "FLOP/s"),
            share(row.flop_ratio),
            rate(row.bytes_per_s, "B/s"),
            share(row.bytes_ratio),
            row.bound or "–",
        )
        for row in summary.roofline
    ]
    header = (
        Text("operator", "算子"),
        _COUNT,
        _TIME,
        Text("compute", "算力"),
        Text("of peak", "占峰值"),
        Text("memory", "显存带宽"),
        Text("of peak", "占峰值"),
        Text("bound", "受限于"),
    )
    return [_sheet("roofline", Text("Matrix products", "矩阵乘"), header, rows, "lrrrrrrl", lang)] if rows else []


def _memory(summary: TraceSummary, lang: str) -> list[Sheet]:
    rows = [
        (
            str(row.device),
            size(row.peak_allocated_bytes),
            size(row.peak_reserved_bytes),
            share(row.fragmentation_ratio),
            f"{row.samples:,}",
        )
        for row in summary.memory
    ]
    header = (
        Text("GPU", "GPU"),
        Text("peak allocated", "已分配峰值"),
        Text("peak reserved", "已保留峰值"),
        Text("unused at the peak", "峰值时未用"),
        Text("events", "事件"),
    )
    return [_sheet("memory", Text("Allocator", "分配器"), header, rows, "lrrrr", lang)] if rows else []

"""Tables of what is no timeline: ranks, spans, kernel counters, Python profiles, iteration lines."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.profiles.ncu import KernelCounters
from whystall.profiles.report import FileReport, TraceReport
from whystall.profiles.spans import PHASE_NAMES, SpanSummary

from .trace_sheet import TOP, Sheet, ns, share

_SLOWEST = 5


def _cells(*texts: Text, lang: str) -> tuple[str, ...]:
    return tuple(text.in_(lang) for text in texts)


def rank_sheets(report: TraceReport, lang: str) -> list[Sheet]:
    """Ranks side by side; nothing for a single one."""
    ranks = report.ranks
    if ranks is None:
        return []
    rows = tuple(
        (
            f"{row.rank}" + (" ◄" if row.rank == ranks.straggler else ""),
            ns(row.collective_ns),
            ns(row.collective_ns - row.skew_ns),
            ns(row.skew_ns),
            ns(row.late_ns),
            f"{row.last} / {ranks.matched}",
            ns(row.clock_offset_ns),
        )
        for row in ranks.ranks
    )
    header = _cells(
        Text("rank", "rank"),
        Text("collectives", "集合通信"),
        Text("wire", "传输"),
        Text("waiting", "等待"),
        Text("late by", "晚到"),
        Text("last in", "最后到达"),
        Text("clock", "时钟差"),
        lang=lang,
    )
    note = "" if ranks.straggler is not None else ranks.text.in_(lang)  # a straggler is the headline already
    return [Sheet("ranks", Text("Ranks", "各 rank").in_(lang), header, rows, "lrrrrrr", note)]


def spans_sheets(file: FileReport, lang: str) -> list[Sheet]:
    """Phases of requests, and spans by name."""
    spans = file.spans
    if spans is None:
        return []
    phases = tuple(
        (
            PHASE_NAMES[row.phase].in_(lang),
            f"{row.count:,}",
            ns(row.mean_ns),
            ns(row.p50_ns),
            ns(row.p95_ns),
            ns(row.p99_ns),
            share(row.tail_share),
        )
        for row in spans.phases
    )
    head = (Text("mean", "平均"), Text("p50", "p50"), Text("p95", "p95"), Text("p99", "p99"))
    header = _cells(Text("phase", "阶段"), Text("requests", "请求"), *head, Text("of the tail", "占尾部"), lang=lang)
    title = Text("Requests by phase", "按阶段的请求").in_(lang)
    note = Text(
        "'of the tail': its part of what the slowest 1% take longer than the median.",
        "“占尾部”：最慢 1% 比中位数多出的时间里占多少。",
    )
    named = tuple(
        (row.name, f"{row.count:,}", ns(row.p50_ns), ns(row.p99_ns), ns(row.max_ns)) for row in spans.names[:TOP]
    )
    columns = _cells(
        Text("span", "span"),
        Text("count", "次数"),
        Text("p50", "p50"),
        Text("p99", "p99"),
        Text("longest", "最长"),
        lang=lang,
    )
    found = [Sheet("spans", title, header, phases, "lrrrrrr", note.in_(lang))] if phases else []
    found += _slowest(spans, lang)
    return [*found, Sheet("names", Text("Spans by name", "按名称的 span").in_(lang), columns, named, "lrrrr")]


def _slowest(spans: SpanSummary, lang: str) -> list[Sheet]:
    requests = sorted(spans.requests, key=lambda request: -request.e2e_ns)[:_SLOWEST]
    rows = tuple(
        (
            ns(request.e2e_ns),
            *(ns(getattr(request, f"{phase}_ns")) for phase in ("frontend", "queue", "prefill", "decode")),
            (request.request_id or request.trace_id)[:60],
        )
        for request in requests
    )
    phases = (PHASE_NAMES[phase] for phase in ("frontend", "queue", "prefill", "decode"))
    header = _cells(Text("in all", "总计"), *phases, Text("request", "请求"), lang=lang)
    title = Text("Slowest requests", "最慢的请求").in_(lang)
    return [Sheet("slowest", title, header, rows, "rrrrrl")] if rows else []


def counters_sheets(file: FileReport, lang: str) -> list[Sheet]:
    """How well each kernel uses the GPU's units."""
    if file.counters is None:
        return []
    kernels = file.counters.kernels[:TOP]
    rows = tuple(
        (
            f"{row.launches}",
            ns(row.duration_ns),
            share(row.sm_ratio),
            share(row.memory_ratio),
            share(row.dram_ratio),
            share(row.tensor_ratio),
            row.bound or "–",
            row.name[:120],
        )
        for row in kernels
    )
    header = _cells(
        Text("launches", "次数"),
        Text("time", "时间"),
        Text("SM", "SM"),
        Text("memory", "存储"),
        Text("DRAM", "显存"),
        Text("tensor", "张量核"),
        Text("bound", "受限于"),
        Text("kernel", "内核"),
        lang=lang,
    )
    title = Text("Kernels against the GPU's peaks", "内核与 GPU 峰值").in_(lang)
    return [Sheet("counters", title, header, rows, "rrrrrrll"), _access_sheet(kernels, lang)]


def _access_sheet(kernels: tuple[KernelCounters, ...], lang: str) -> Sheet:
    rows = tuple(
        (
            share(row.occupancy_ratio),
            share(row.theoretical_occupancy_ratio),
            share(row.l1_hit_ratio),
            share(row.l2_hit_ratio),
            share(row.coalescing_ratio),
            ", ".join(f"{reason} {share(part)}" for reason, part in row.stalls[:2]) or "–",
            row.name[:120],
        )
        for row in kernels
    )
    header = _cells(
        Text("occupancy", "占用率"),
        Text("at most", "上限"),
        Text("L1 hits", "L1 命中"),
        Text("L2 hits", "L2 命中"),
        Text("coalesced", "合并访问"),
        Text("stalls", "停顿"),
        Text("kernel", "内核"),
        lang=lang,
    )
    return Sheet("access", Text("Occupancy and access", "占用率与访存").in_(lang), header, rows, "rrrrrll")


def calls_sheets(file: FileReport, lang: str) -> list[Sheet]:
    """Python's time by what it does, and its functions."""
    calls = file.calls
    if calls is None:
        return []
    groups = tuple(
        (row.title.in_(lang), _amount(row.seconds, calls.unit), share(row.share), share(row.busy_share))
        for row in calls.groups
    )
    functions = tuple(
        (row.name[-100:], row.group, _amount(row.seconds, calls.unit), share(row.share))
        for row in calls.functions[:TOP]
    )
    of_all, of_busy = Text("of all", "占全部"), Text("of what is not waiting", "占非等待")
    own = Text("own time", "自身时间")
    header = _cells(Text("group", "分组"), own, of_all, of_busy, lang=lang)
    columns = _cells(Text("function", "函数"), Text("group", "分组"), own, of_all, lang=lang)
    return [
        Sheet("groups", Text("Python time by what it does", "按用途的 Python 时间").in_(lang), header, groups, "lrrr"),
        Sheet("functions", Text("Functions", "函数").in_(lang), columns, functions, "llrr"),
    ]


def _amount(value: float, unit: str) -> str:
    return ns(value * 1e9) if unit == "seconds" else f"{value:,.0f}"


def iterations_sheets(file: FileReport, lang: str) -> list[Sheet]:
    """Steps by phase, from the server's log."""
    found = file.iterations
    if found is None:
        return []
    rows = tuple(
        (
            row.phase,
            f"{row.steps:,}",
            share(row.share),
            ns(row.p50_s * 1e9),
            ns(row.p99_s * 1e9),
            ns(row.max_s * 1e9),
            f"{row.tokens:,.0f}",
        )
        for row in found.phases
    )
    header = _cells(
        Text("phase", "阶段"),
        Text("steps", "步数"),
        Text("share of time", "时间占比"),
        Text("p50", "p50"),
        Text("p99", "p99"),
        Text("longest", "最长"),
        Text("tokens", "token 数"),
        lang=lang,
    )
    note = ""
    if found.decode_base_s is not None and found.decode_s_per_request is not None:
        note = (
            Text(
                "A decode step takes {base:.2f} ms and {slope:.3f} ms more for each request in it.",
                "一个 decode 步需要 {base:.2f} 毫秒，每多一个请求增加 {slope:.3f} 毫秒。",
            )
            .format(base=found.decode_base_s * 1e3, slope=found.decode_s_per_request * 1e3)
            .in_(lang)
        )
    return [Sheet("iterations", Text("Steps in the log", "日志中的步骤").in_(lang), header, rows, "lrrrrrr", note)]

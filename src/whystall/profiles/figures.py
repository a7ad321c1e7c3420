"""The numbers of a trace report that a diagnosis can weigh, whatever tool they came from. None: not told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from .report import TraceReport
from .summary import PhaseTime, TraceSummary


class TraceFigures(msgspec.Struct, frozen=True):
    """Ratios are of the window unless the name says otherwise; with several ranks, means over them.

    ``*_gpu_share`` are of summed GPU time. ``*_python_share`` are of the engine loop's time that it does not wait.
    """

    files: tuple[str, ...] = ()
    window_s: float | None = None
    # launch_bound, engine_loop_cpu, cpu_starved
    busy_ratio: float | None = None
    launch_idle_ratio: float | None = None
    between_steps_idle_ratio: float | None = None
    copy_idle_ratio: float | None = None
    decode_graph_share: float | None = None  # of pure decode steps' GPU time
    kernels_shorter_than_launch_share: float | None = None
    critical_host_ratio: float | None = None  # of the critical path
    # where the GPU's time goes
    attention_gpu_share: float | None = None
    gemm_gpu_share: float | None = None
    moe_gpu_share: float | None = None
    sampling_gpu_share: float | None = None
    copy_gpu_share: float | None = None
    # prefill_bound, decode_bandwidth, prefill_interference
    prefill_gpu_share: float | None = None
    mixed_gpu_share: float | None = None
    decode_gpu_share: float | None = None
    decode_step_s: float | None = None  # GPU, median
    mixed_step_s: float | None = None
    memory_bandwidth_ratio: float | None = None  # of the device's peak, over matrix products or ncu's kernels
    compute_ratio: float | None = None
    # comm_bound, straggler_rank, moe_imbalance
    collective_gpu_share: float | None = None
    exposed_collective_ratio: float | None = None
    skew_ratio: float | None = None  # of collective time
    straggler_rank: int | None = None
    moe_spread: float | None = None  # largest rank's MoE time over the mean
    # sampler_cpu, structured_output, gc_pause, observability_overhead
    sampling_python_share: float | None = None
    structured_output_python_share: float | None = None
    scheduler_python_share: float | None = None
    gc_python_share: float | None = None
    profiler_overhead_ratio: float | None = None
    # spans
    queue_share: float | None = None  # of requests' time
    tail_phase: str | None = None


def trace_figures(report: TraceReport) -> TraceFigures:
    """All figures that the report's files tell."""
    lines = [line for line in report.timelines if line.rows]
    ranks = report.ranks
    return TraceFigures(
        files=tuple(file.file for file in report.files),
        window_s=_mean(line.window_ns / 1e9 for line in lines),
        straggler_rank=ranks.straggler if ranks else None,
        skew_ratio=ranks.skew_ns / ranks.collective_ns if ranks and ranks.collective_ns else None,
        moe_spread=_spread(lines),
        **_time(lines),
        **_families(lines),
        **_phases(lines),
        **_peaks(report, lines),
        **_python(report),
        **_spans(report),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _time(lines: list[TraceSummary]) -> dict[str, Any]:
    def of(name: str) -> float | None:
        return _mean(_ratio(getattr(line.idle, name), line.busy_ns + line.idle.idle_ns) for line in lines)

    paths = [line.critical_path for line in lines if line.critical_path is not None]
    comms = [(line.communication, line.window_ns) for line in lines if line.communication is not None]
    return {
        "busy_ratio": _mean(line.busy_ratio for line in lines),
        "launch_idle_ratio": of("launch_ns"),
        "between_steps_idle_ratio": of("between_steps_ns"),
        "copy_idle_ratio": of("copy_ns"),
        "kernels_shorter_than_launch_share": _mean(line.launches.shorter_than_launch_share for line in lines),
        "critical_host_ratio": _mean(_ratio(path.host_ns, path.total_ns) for path in paths),
        "exposed_collective_ratio": _mean(_ratio(comm.exposed_ns, window) for comm, window in comms),
        "profiler_overhead_ratio": _mean(_ratio(sum(line.overhead.values()), line.window_ns) for line in lines),
    }


def _families(lines: list[TraceSummary]) -> dict[str, Any]:
    def of(id: str) -> float | None:
        return _mean((found.share if (found := line.family(id)) else 0.0) for line in lines)

    names = ("attention", "gemm", "moe", "sampling", "copy", "collective")
    return {f"{name}_gpu_share": of(name) for name in names}


def _phases(lines: list[TraceSummary]) -> dict[str, Any]:
    phases = [{phase.phase: phase for phase in line.phases} for line in lines if line.steps]

    def of(name: str, value: str) -> float | None:
        found: list[PhaseTime] = [table[name] for table in phases if name in table]
        return _mean(getattr(phase, value) for phase in found)

    shares = {f"{name}_gpu_share": of(name, "share") for name in ("prefill", "mixed", "decode")}
    steps = {f"{name}_step_s": _seconds(of(name, "busy_p50_ns")) for name in ("decode", "mixed")}
    return {**shares, **steps, "decode_graph_share": of("decode", "graph_share")}


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9


def _peaks(report: TraceReport, lines: list[TraceSummary]) -> dict[str, Any]:
    """Against the device's peaks, weighted by time: from ncu where there is one, else from shapes."""
    rows: list[tuple[float | None, float | None, float]] = [
        (_first(row.dram_ratio, row.memory_ratio), row.sm_ratio, (row.duration_ns or 0) * row.launches)
        for file in report.files
        if file.counters is not None
        for row in file.counters.kernels
    ] or [(row.bytes_ratio, row.flop_ratio, float(row.ns)) for line in lines for row in line.roofline]
    return {
        "memory_bandwidth_ratio": _weighted([(memory, weight) for memory, _, weight in rows]),
        "compute_ratio": _weighted([(compute, weight) for _, compute, weight in rows]),
    }


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _weighted(pairs: list[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in pairs if value is not None and weight > 0]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _spread(lines: list[TraceSummary]) -> float | None:
    """How much longer the rank with the most MoE time computes than the mean of all."""
    times = [found.ns for line in lines if (found := line.family("moe")) is not None]
    total = sum(times)
    return max(times) * len(times) / total if len(times) > 1 and total else None


def _python(report: TraceReport) -> dict[str, Any]:
    groups = [{row.id: row.busy_share for row in file.calls.groups} for file in report.files if file.calls is not None]
    names = ("sampling", "structured_output", "scheduler", "gc")
    return {f"{name}_python_share": _mean(table.get(name, 0.0) for table in groups) for name in names}


def _spans(report: TraceReport) -> dict[str, Any]:
    spans = next((file.spans for file in report.files if file.spans is not None and file.spans.phases), None)
    if spans is None:
        return {}
    total = sum(phase.mean_ns for phase in spans.phases)
    queue = sum(phase.mean_ns for phase in spans.phases if phase.phase == "queue")
    return {"queue_share": _ratio(queue, total), "tail_phase": spans.tail_phase}

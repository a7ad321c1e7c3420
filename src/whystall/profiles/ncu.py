"""Nsight Compute CSV: how well each kernel used the SMs, the memory and the caches.

ncu replays every kernel alone and at fixed clocks, so its durations are not a live server's: shares of time come from a
timeline. What it tells is why a kernel is as fast as it is.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from whystall.errors import NotATrace
from whystall.model.text import Text

from .kernels import Classifier
from .span_files import read_text
from .summary import Note

Bound = Literal["compute", "memory", "latency", "both"]

# Our figure: the names that sections (details page) and counters (raw page) give it. All are per cent there.
_RATIOS = {
    "sm_ratio": ("Compute (SM) Throughput", "SM [%]", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    "memory_ratio": (
        "Memory Throughput [%]",
        "Memory [%]",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "dram_ratio": (
        "DRAM Throughput",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "FBSP.TriageCompute.dramc__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "l1_hit_ratio": ("L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"),
    "l2_hit_ratio": ("L2 Hit Rate", "lts__t_sector_hit_rate.pct"),
    "occupancy_ratio": ("Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"),
    "theoretical_occupancy_ratio": ("Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"),
    "tensor_ratio": (
        # Cycles before instructions: one of Hopper's instructions keeps the pipe busy for many cycles.
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__pipe_tensor_op_gmma_cycles_active.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",
        "sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active",
    ),
    "coalescing_ratio": (
        "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
        "smsp__sass_average_data_bytes_per_sector_mem_global.pct",
    ),
}
# Bytes used of the 32 of a sector: newer versions give the number, not per cent.
_SECTOR_BYTES = (
    "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
    "smsp__sass_average_data_bytes_per_sector_mem_global.ratio",
)
_DURATION = ("Duration", "gpu__time_duration.sum", "gpu__time_duration.avg")
_CONFLICTS = (
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "l1tex__data_bank_conflicts_pipe_lsu.sum",
    "derived__memory_l1_conflicts_shared_nway",
)
_STALL = re.compile(
    r"(?:issue_stalled|warps?_issue_stalled)_(\w+?)(?:_per_warp_active|_per_issue_active|_not_issued|\.|$)|^Stall (\w[\w ]*)$"
)
_UNITS_NS = {
    "nsecond": 1,
    "ns": 1,
    "usecond": 1e3,
    "us": 1e3,
    "µs": 1e3,
    "msecond": 1e6,
    "ms": 1e6,
    "second": 1e9,
    "s": 1e9,
}
_HIGH, _LOW = 0.8, 0.6  # Nsight Compute's own: over 80% of a peak that unit binds, under 60% of both it is latency
_LONG = {"Kernel Name", "Metric Name", "Metric Value"}


class KernelCounters(msgspec.Struct, frozen=True):
    """One kernel's launches, weighted by their duration. Ratios are of the unit's peak, None where not collected."""

    name: str
    class_id: str = msgspec.field(name="class")
    launches: int
    duration_ns: float | None
    sm_ratio: float | None
    memory_ratio: float | None
    dram_ratio: float | None
    l1_hit_ratio: float | None
    l2_hit_ratio: float | None
    occupancy_ratio: float | None
    theoretical_occupancy_ratio: float | None
    tensor_ratio: float | None
    coalescing_ratio: float | None
    bank_conflicts: float | None
    stalls: tuple[tuple[str, float], ...]  # reason, share of what was collected; the largest three
    bound: Bound | None
    rules: tuple[str, ...] = ()


class CounterSummary(msgspec.Struct, frozen=True):
    kernels: tuple[KernelCounters, ...]
    launches: int
    notes: tuple[Note, ...]


class Launch(msgspec.Struct):
    """One profiled launch: its metrics by name, numbers as written, and the rules that spoke."""

    name: str
    metrics: dict[str, float]
    duration_ns: float | None = None
    rules: list[str] = []


def read_ncu_csv(path: Path, classifier: Classifier | None = None) -> CounterSummary:
    """``ncu --csv`` of any page. Raises :class:`NotATrace` where no kernel is in it."""
    launches = parse_ncu_csv(read_text(path).decode("utf-8", "replace"))
    if not launches:
        raise NotATrace(f"{path.name} is not Nsight Compute CSV", "Run: ncu --import report.ncu-rep --csv --page raw")
    return summarise_counters(launches, classifier or Classifier())


def parse_ncu_csv(text: str) -> list[Launch]:
    """Launches of the long form (details page, a metric a row) or the wide one (raw page, a metric a column)."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("==")]
    start = next(
        (number for number, line in enumerate(lines) if '"Kernel Name"' in line or "Kernel Name," in line), None
    )
    if start is None:
        return []
    header, *rows = csv.reader(
        lines[start:], delimiter=";" if lines[start].count(";") > lines[start].count(",") else ","
    )
    return _long(header, rows) if set(header) >= _LONG else _wide(header, rows)


def _long(header: list[str], rows: Iterable[list[str]]) -> list[Launch]:
    found: dict[tuple[str, str], Launch] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=False))
        key = (cells.get("Process ID", ""), cells.get("ID", ""))
        launch = found.setdefault(key, Launch(cells.get("Kernel Name", ""), {}, rules=[]))
        if cells.get("Metric Name"):
            put_metric(launch, cells["Metric Name"], cells.get("Metric Unit", ""), cells.get("Metric Value", ""))
        if cells.get("Rule Type") in ("OPT", "WRN") and cells.get("Rule Description"):
            launch.rules.append(f"{cells.get('Rule Name', '')}: {cells['Rule Description']}"[:400])
    return list(found.values())


def _wide(header: list[str], rows: Iterable[list[str]]) -> list[Launch]:
    rows = list(rows)
    place = header.index("Kernel Name") if "Kernel Name" in header else None
    if place is None or not rows:
        return []
    units = rows[0] if not rows[0][header.index("ID") if "ID" in header else 0].strip() else [""] * len(header)
    found = []
    for row in rows:
        if row is units or len(row) < len(header):
            continue
        launch = Launch(row[place], {}, rules=[])
        for name, unit, value in zip(header, units, row, strict=False):
            put_metric(launch, name, unit, value)
        found.append(launch)
    return found


def put_metric(launch: Launch, name: str, unit: str, value: str) -> None:
    """Add one metric to a launch; text that is no number is left out."""
    number = _number(value)
    if number is None:
        return
    if name in _DURATION:
        launch.duration_ns = number * _UNITS_NS.get(unit, 1)
    launch.metrics[f"{name} [%]" if name == "Memory Throughput" and unit == "%" else name] = number


def _number(text: str) -> float | None:
    """``1,234.5``, ``1.234,5`` and ``12,5``; None for text and n/a."""
    text = text.strip()
    if re.fullmatch(r"-?\d{1,3}(\.\d{3})+,\d+|-?\d+,\d{1,2}", text):
        text = text.replace(".", "").replace(",", ".")
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def summarise_counters(launches: Sequence[Launch], classifier: Classifier) -> CounterSummary:
    """Launches by kernel, most time first."""
    groups: dict[str, list[Launch]] = {}
    for launch in launches:
        groups.setdefault(launch.name, []).append(launch)
    kernels = [_kernel(name, group, classifier.classify(name)) for name, group in groups.items()]
    kernels.sort(key=lambda row: -(row.duration_ns or 0) * row.launches)
    return CounterSummary(tuple(kernels), len(launches), tuple(_notes(kernels)))


def _kernel(name: str, group: list[Launch], class_id: str) -> KernelCounters:
    ratios = {key: _ratio(group, names) for key, names in _RATIOS.items()}
    sector = _weighted(group, _SECTOR_BYTES)
    if not ratios["coalescing_ratio"]:  # 0 where a kernel loads by TMA only, past the units that are counted
        ratios["coalescing_ratio"] = sector / 32 if sector else None
    durations = [launch.duration_ns for launch in group if launch.duration_ns is not None]
    return KernelCounters(
        name=name,
        class_id=class_id,
        launches=len(group),
        duration_ns=float(np.mean(durations)) if durations else None,
        bank_conflicts=_weighted(group, _CONFLICTS),
        stalls=_stalls(group),
        bound=_bound(ratios["sm_ratio"], ratios["memory_ratio"]),
        rules=tuple(dict.fromkeys(rule for launch in group for rule in launch.rules))[:5],
        **ratios,
    )


def _ratio(group: list[Launch], names: Sequence[str]) -> float | None:
    value = _weighted(group, names)
    return value / 100 if value is not None else None


def _weighted(group: list[Launch], names: Sequence[str]) -> float | None:
    for name in names:
        pairs = [(launch.metrics[name], launch.duration_ns or 1.0) for launch in group if name in launch.metrics]
        if pairs:
            return float(np.average([value for value, _ in pairs], weights=[weight or 1.0 for _, weight in pairs]))
    return None


def _stalls(group: list[Launch]) -> tuple[tuple[str, float], ...]:
    sums: dict[str, float] = {}
    for launch in group:
        for name, value in launch.metrics.items():
            match = _STALL.search(name)
            if match and value > 0 and not name.endswith("_not_issued.sum"):
                reason = (match.group(1) or match.group(2)).lower().replace(" ", "_")
                sums[reason] = sums.get(reason, 0.0) + value
    total = sum(sums.values())
    return tuple((reason, value / total) for reason, value in sorted(sums.items(), key=lambda item: -item[1])[:3])


def _bound(compute: float | None, memory: float | None) -> Bound | None:
    if compute is None or memory is None:
        return None
    if compute < _LOW and memory < _LOW:
        return "latency"
    if compute >= _HIGH and memory >= _HIGH:
        return "both"
    return "compute" if compute >= memory else "memory"


def _notes(kernels: Sequence[KernelCounters]) -> Iterator[Note]:
    yield Note("replayed", "fact", _REPLAYED)
    if all(row.sm_ratio is None for row in kernels):
        yield Note("no_throughput", "missing", _NO_THROUGHPUT)
    for row in kernels[:20]:
        short = row.name[:60]
        if row.coalescing_ratio is not None and row.coalescing_ratio < 0.5:
            yield Note("uncoalesced", "fact", _UNCOALESCED.format(name=short, share=row.coalescing_ratio))
        if row.class_id == "gemm" and row.tensor_ratio is not None and row.tensor_ratio < 0.05:
            yield Note("no_tensor_cores", "fact", _NO_TENSOR.format(name=short, share=row.tensor_ratio))


_REPLAYED = Text(
    "ncu ran each kernel alone, several times, with clocks fixed and caches flushed: it says why a kernel is as fast as it "
    "is, not how long a live step takes.",
    "ncu 会固定频率、清空缓存、单独多次重放每个内核：它说明内核为何是这个速度，不代表线上一步的耗时。",
)
_NO_THROUGHPUT = Text(
    "SM and memory throughput were not collected: record with --set full, or --section SpeedOfLight.",
    "没有采集 SM 与显存吞吐：请用 --set full 或 --section SpeedOfLight。",
)
_UNCOALESCED = Text(
    "{name} uses {share:.0%} of the bytes of each sector it loads: neighbouring threads do not read neighbouring addresses.",
    "{name} 每次加载的扇区只用了 {share:.0%}：相邻线程没有读取相邻地址。",
)
_NO_TENSOR = Text(
    "{name} is a matrix product but keeps the tensor cores {share:.0%} busy.",
    "{name} 是矩阵乘，但张量核心只有 {share:.0%} 忙。",
)

"""Samples of the host and of the server's processes, as the lines of host.jsonl have them, to columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import numpy as np

from whystall.model.recording import Floats, HostColumns, ProcessColumns

_NAN = float("nan")
_ROLES = (
    ("api", re.compile(r"^(VLLM::)?(APIServer|ApiServer)|api_server|^vllm serve", re.IGNORECASE)),
    ("engine", re.compile(r"^(VLLM::)?(EngineCore|DPEngineCore)", re.IGNORECASE)),
    ("worker", re.compile(r"^(VLLM::)?(Vllm|Ray)?Worker|^ray::.*Worker", re.IGNORECASE)),
)


class ProcessRow(msgspec.Struct, frozen=True):
    """One process of the server at one time."""

    name: str
    pid: int
    role: str | None = None
    cpu_s: float | None = None
    rss_bytes: float | None = None
    run_delay_s: float | None = None
    allowed_cpus: int | None = None


class CgroupRow(msgspec.Struct, frozen=True):
    """The control group that limits the server: cumulative throttling, and the cores it allows."""

    throttled_s: float | None = None
    periods: float | None = None
    throttled_periods: float | None = None
    cpu_quota: float | None = None


class HostRow(msgspec.Struct, frozen=True):
    """One line of host.jsonl. ``cpu_jiffies`` and ``psi_cpu_some_s`` are cumulative."""

    t: float
    cpus: int | None = None
    loadavg: tuple[float, ...] = ()
    cpu_jiffies: dict[str, float] = {}
    psi_cpu_some_s: float | None = None
    mem_available_bytes: float | None = None
    cgroup: CgroupRow = CgroupRow()
    processes: tuple[ProcessRow, ...] = ()


def role_of(name: str) -> str:
    """``api engine worker other`` by a process's name or title: APIServer, EngineCore_DP0, VLLM::Worker_TP0 …"""
    return next((role for role, pattern in _ROLES if pattern.search(name)), "other")


def host_columns(rows: Sequence[HostRow]) -> HostColumns | None:
    """Columns of all rows in their order; None where there are no rows."""
    if not rows:
        return None
    t = np.array([row.t for row in rows])
    psi = _floats([row.psi_cpu_some_s for row in rows])
    throttled = _floats([row.cgroup.throttled_s for row in rows])
    periods = _step(_floats([row.cgroup.periods for row in rows]))
    over = _step(_floats([row.cgroup.throttled_periods for row in rows]))
    memory = _floats([row.mem_available_bytes for row in rows])
    return HostColumns(
        t=t,
        load1=_floats([row.loadavg[0] if row.loadavg else None for row in rows]),
        cpus=next((row.cpus for row in rows if row.cpus), None),
        busy_ratio=_busy(rows),
        processes=_processes(rows),
        throttled_s=_seen(throttled),
        throttled_periods_ratio=_seen(_ratio(over, periods)),
        cpu_quota=next((row.cgroup.cpu_quota for row in rows if row.cgroup.cpu_quota), None),
        psi_cpu_ratio=_seen(_ratio(_step(psi), _step(t))),
        mem_available_bytes=_seen(memory),
    )


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([_NAN if value is None else value for value in values], dtype=np.float64)


def _step(cumulative: Floats) -> Floats:
    """The rise since the row before; NaN in the first row."""
    return np.diff(cumulative, prepend=_NAN)


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Rise over rise, NaN where the whole did not rise or the part fell (the host restarted)."""
    held = (whole > 0) & (part >= 0)
    return np.where(held, part / np.where(held, whole, 1.0), _NAN)


def _seen(column: Floats) -> Floats | None:
    return None if np.all(np.isnan(column)) else column


def _busy(rows: Sequence[HostRow]) -> Floats:
    total = _step(_floats([sum(row.cpu_jiffies.values()) if row.cpu_jiffies else None for row in rows]))
    idle = _step(_floats([_idle(row) for row in rows]))
    return np.clip(1.0 - _ratio(idle, total), 0.0, 1.0)


def _idle(row: HostRow) -> float | None:
    if "idle" not in row.cpu_jiffies:
        return None
    return row.cpu_jiffies["idle"] + row.cpu_jiffies.get("iowait", 0.0)


def _processes(rows: Sequence[HostRow]) -> tuple[ProcessColumns, ...]:
    """One entry a pid and name, in the order first seen; NaN in the rows where it was not there."""
    found: dict[tuple[int, str], dict[int, ProcessRow]] = {}
    for number, row in enumerate(rows):
        for process in row.processes:
            found.setdefault((process.pid, process.name), {})[number] = process
    return tuple(_process(samples, len(rows)) for samples in found.values())


def _process(samples: dict[int, ProcessRow], length: int) -> ProcessColumns:
    rows = [samples.get(number) for number in range(length)]
    first = next(iter(samples.values()))
    return ProcessColumns(
        name=first.name,
        pid=first.pid,
        role=first.role or role_of(first.name),
        cpu_s=_floats([row.cpu_s if row else None for row in rows]),
        rss_bytes=_floats([row.rss_bytes if row else None for row in rows]),
        run_delay_s=_seen(_floats([row.run_delay_s if row else None for row in rows])),
        allowed_cpus=next((row.allowed_cpus for row in samples.values() if row.allowed_cpus), None),
    )

"""GPU samples, as NVML and the lines of gpu.jsonl have them, to columns in SI units."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from whystall.model.recording import Floats, GpuColumns

_NAN = float("nan")


class GpuRow(msgspec.Struct, frozen=True):
    """One line of gpu.jsonl: one device at one time. None where the driver did not tell."""

    t: float
    gpu: int = 0
    name: str | None = None
    util_gpu_pct: float | None = None
    util_mem_pct: float | None = None
    mem_used_bytes: float | None = None
    mem_total_bytes: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temp_c: float | None = None
    sm_clock_mhz: float | None = None
    sm_max_clock_mhz: float | None = None
    mem_clock_mhz: float | None = None
    throttle_reasons: int | None = None
    pcie_tx_kbps: float | None = None
    pcie_rx_kbps: float | None = None


def gpu_columns(rows: Sequence[GpuRow]) -> GpuColumns | None:
    """Columns of all rows in their order; None where there are no rows."""
    if not rows:
        return None
    return GpuColumns(
        t=np.array([row.t for row in rows]),
        gpu=np.array([row.gpu for row in rows], dtype=np.int64),
        name=tuple(row.name or "" for row in rows),
        util_ratio=_column(rows, "util_gpu_pct", 0.01),
        mem_util_ratio=_column(rows, "util_mem_pct", 0.01),
        mem_used_bytes=_column(rows, "mem_used_bytes"),
        mem_total_bytes=_column(rows, "mem_total_bytes"),
        power_w=_column(rows, "power_w"),
        power_limit_w=_column(rows, "power_limit_w"),
        temp_c=_column(rows, "temp_c"),
        sm_clock_hz=_column(rows, "sm_clock_mhz", 1e6),
        mem_clock_hz=_column(rows, "mem_clock_mhz", 1e6),
        throttle_reasons=np.array([_reasons(row) for row in rows], dtype=np.int64),
        pcie_tx_bytes_per_s=_column(rows, "pcie_tx_kbps", 1e3),
        pcie_rx_bytes_per_s=_column(rows, "pcie_rx_kbps", 1e3),
        sm_max_clock_hz=max((row.sm_max_clock_mhz * 1e6 for row in rows if row.sm_max_clock_mhz), default=_NAN),
    )


def _column(rows: Sequence[GpuRow], name: str, unit: float = 1.0) -> Floats:
    found = [getattr(row, name) for row in rows]
    return np.array([_NAN if value is None else value * unit for value in found])


def _reasons(row: GpuRow) -> int:
    known = row.throttle_reasons is not None and 0 <= row.throttle_reasons < 2**63
    return row.throttle_reasons if known and row.throttle_reasons is not None else -1

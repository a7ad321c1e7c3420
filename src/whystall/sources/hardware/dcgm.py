"""The fields of NVIDIA's DCGM exporter, default and profiling ones, as GPU samples.

Names and units: DCGM's field identifiers and dcgm-exporter's ``default-counters.csv``: memory in MiB, clocks in MHz, power
in W, utilisation in percent, profiling fields as ratios, PCIe and NVLink in bytes a second.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whystall.model.recording import Floats, LogLine, SeriesKey, SeriesTable
from whystall.sources.gpu import GpuRow

from .samples import Samples, at

_MARKS = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_DEV_POWER_USAGE")
_MIB = 2.0**20
_REASONS = ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS")
# The cumulative time held down, and NVML's bit for the same reason.
_VIOLATIONS = {
    "DCGM_FI_DEV_POWER_VIOLATION": 0x4,
    "DCGM_FI_DEV_SYNC_BOOST_VIOLATION": 0x10,
    "DCGM_FI_DEV_THERMAL_VIOLATION": 0x20,
}
_NS, _US = 1e9, 1e6
_HELD = 0.01  # of an interval: less is a counter's jitter
_XID = "DCGM_FI_DEV_XID_ERRORS"


def gpu_rows(table: SeriesTable) -> list[GpuRow]:
    """A row for each device and time at which it told anything, in order of time. Empty without DCGM's fields."""
    samples = Samples(table)
    devices = list(_devices(samples))
    columns = [_columns(samples, number, key) for number, key in enumerate(devices)]
    found = [row for rows in columns for row in rows]
    return sorted(found, key=lambda row: (row.t, row.gpu))


def _devices(samples: Samples) -> Iterator[SeriesKey]:
    """One series for each device: a GPU by UUID, else by host and number."""
    seen: set[tuple[str, str, str]] = set()
    for key in samples.keys(*_MARKS):
        device = _identity(key)
        if device not in seen:
            seen.add(device)
            yield key


def _identity(key: SeriesKey) -> tuple[str, str, str]:
    return key.label("UUID"), key.label("gpu"), key.label("Hostname")


# What a row takes as it stands: the field's name, and what makes it the row's unit.
_PLAIN = {
    "power_w": (("DEV_POWER_USAGE",), 1.0),
    "power_limit_w": (("DEV_ENFORCED_POWER_LIMIT", "DEV_POWER_MGMT_LIMIT"), 1.0),
    "temp_c": (("DEV_GPU_TEMP",), 1.0),
    "sm_clock_mhz": (("DEV_SM_CLOCK",), 1.0),
    "sm_max_clock_mhz": (("DEV_MAX_SM_CLOCK",), 1.0),
    "mem_clock_mhz": (("DEV_MEM_CLOCK",), 1.0),
    "pcie_tx_kbps": (("PROF_PCIE_TX_BYTES",), 1e-3),
    "pcie_rx_kbps": (("PROF_PCIE_RX_BYTES",), 1e-3),
    "mem_used_bytes": (("DEV_FB_USED",), _MIB),
}
# A row without any of these tells of no device at that time.
_TELLING = ("util_gpu_pct", "power_w", "sm_clock_mhz", "mem_used_bytes")


def _columns(samples: Samples, number: int, key: SeriesKey) -> list[GpuRow]:
    labels = {name: key.label(name) for name in ("UUID", "gpu", "Hostname") if key.label(name)}

    def of(*names: str) -> Floats | None:
        return samples.first([f"DCGM_FI_{name}" for name in names], **labels)

    gpu = int(key.label("gpu")) if key.label("gpu").isdigit() and len(key.label("gpu")) < 5 else number
    plain = {field: (of(*names), unit) for field, (names, unit) in _PLAIN.items()}
    # Where the profiling fields are there, they say more than the coarse ones.
    util, active = of("DEV_GPU_UTIL"), of("PROF_GR_ENGINE_ACTIVE")
    dram, memory = of("PROF_DRAM_ACTIVE"), of("DEV_MEM_COPY_UTIL")
    free, reserved, bits = of("DEV_FB_FREE"), of("DEV_FB_RESERVED"), _bits(samples, labels)
    rows = []
    for place, t in enumerate(samples.times.tolist()):
        seen = {field: at(column, place, unit) for field, (column, unit) in plain.items()}
        row = GpuRow(
            t=t,
            gpu=gpu,
            name=key.label("modelName") or None,
            util_gpu_pct=at(util, place) if util is not None else at(active, place, 100.0),
            util_mem_pct=at(dram, place, 100.0) if dram is not None else at(memory, place),
            mem_total_bytes=_total(seen["mem_used_bytes"], at(free, place, _MIB), at(reserved, place, _MIB)),
            throttle_reasons=None if bits is None or bits[place] < 0 else int(bits[place]),
            **seen,
        )
        if any(getattr(row, name) is not None for name in _TELLING):
            rows.append(row)
    return rows


def _total(used: float | None, free: float | None, reserved: float | None) -> float | None:
    """Memory of a device; None where a part of it was not told (what is reserved may be)."""
    return None if used is None or free is None else used + free + (reserved or 0.0)


def _bits(samples: Samples, labels: dict[str, str]) -> Floats | None:
    """NVML's reasons at each time, -1 where not told: the field itself, else the counters of time held down."""
    told = samples.first(_REASONS, **labels)
    if told is not None:
        return np.where(np.isfinite(told) & (told >= 0) & (told < 2**31), told, -1.0)
    found = [(bit, share) for name, bit in _VIOLATIONS.items() if (share := _held(samples, name, labels)) is not None]
    if not found:
        return None
    bits = np.zeros(len(samples.times))
    seen = np.zeros(len(samples.times), dtype=bool)
    for bit, share in found:
        seen |= np.isfinite(share)
        bits += np.where(np.nan_to_num(share) > _HELD, bit, 0)
    return np.where(seen, bits, -1.0)


def _held(samples: Samples, name: str, labels: dict[str, str]) -> Floats | None:
    """The share of each interval in which the clock was held down, NaN where that is not told.

    DCGM counts nanoseconds, older exporters microseconds. No more than a second can pass in a second, which tells them
    apart where the rise is large; a small rise that could be either is left out, and none is none in both.
    """
    values = samples.first([name], **labels)
    if values is None or len(samples.times) < 2:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.diff(values, prepend=np.nan) / np.diff(samples.times, prepend=np.nan)
    rate = np.where(rate >= 0, rate, np.nan)
    highest = float(np.nanmax(rate)) if np.isfinite(rate).any() else np.nan
    if highest > 1.05 * _US:
        return rate / _NS
    return np.where(rate == 0, 0.0, np.nan)


def xid_lines(table: SeriesTable) -> tuple[LogLine, ...]:
    """A line as the kernel would log it for each change of the last Xid that DCGM saw; it is no counter."""
    samples, found = Samples(table), []
    for key in samples.keys(_XID):
        labels = {name: key.label(name) for name in ("UUID", "gpu", "Hostname") if key.label(name)}
        values = samples.first([_XID], **labels)
        before = np.nan
        for t, value in zip(
            samples.times.tolist(), (values if values is not None else np.zeros(0)).tolist(), strict=True
        ):
            if np.isfinite(value) and value > 0 and value != before and np.isfinite(before):
                text = f"NVRM: Xid (DCGM, GPU {key.label('gpu')}): {value:.0f}"
                found.append(LogLine(t, "ERROR", "kernel", None, text))
            before = value if np.isfinite(value) else before
    return tuple(sorted(found, key=lambda line: line.t or 0.0))

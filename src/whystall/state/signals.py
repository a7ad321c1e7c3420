"""GPU, host and client samples brought onto the scrape intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import ClientState, GpuState, HostProcess, HostState
from whystall.model.recording import ClientColumns, GpuColumns, HostColumns, ProcessColumns

Floats = NDArray[np.float64]


def gpu_state(gpu: GpuColumns | None, edges: Floats) -> GpuState | None:
    """Means over devices and samples in each interval ``(edges[i], edges[i + 1]]``; None without a sample in the window."""
    if gpu is None or not len(gpu.t):
        return None
    slot = _slots(gpu.t, edges)
    if not (slot >= 0).any():
        return None
    m = len(edges) - 1
    inside = slot >= 0
    bits = np.full(m, -1, dtype=np.int64)
    for i in np.unique(slot[inside]):
        seen = gpu.throttle_reasons[(slot == i) & (gpu.throttle_reasons >= 0)]
        bits[i] = np.bitwise_or.reduce(seen) if len(seen) else -1
    return GpuState(
        util_ratio=_mean_by_slot(gpu.util_ratio, slot, m),
        mem_util_ratio=_mean_by_slot(gpu.mem_util_ratio, slot, m),
        power_w=_mean_by_slot(gpu.power_w, slot, m),
        power_limit_w=_mean_by_slot(_positive(gpu.power_limit_w), slot, m),
        temp_c=_mean_by_slot(gpu.temp_c, slot, m),
        sm_clock_hz=_mean_by_slot(_positive(gpu.sm_clock_hz), slot, m),
        throttle_bits=bits,
        max_clock_hz=_nanmax(_positive(np.append(gpu.sm_clock_hz, gpu.sm_max_clock_hz))),
        devices=len(np.unique(gpu.gpu[inside])),
        name=gpu.name[0] if gpu.name else "",
        mem_used_bytes=_nanmax(gpu.mem_used_bytes[inside]),
        mem_total_bytes=_nanmax(gpu.mem_total_bytes[inside]),
        device_power_w=_by_device(gpu.power_w, gpu.gpu, slot, m),
        device_clock_hz=_by_device(_positive(gpu.sm_clock_hz), gpu.gpu, slot, m),
    )


def _by_device(values: Floats, device: NDArray[np.int64], slot: NDArray[np.int64], m: int) -> Floats:
    """Means by interval and device, ``[m, devices]``."""
    return np.stack([_mean_by_slot(values, np.where(device == d, slot, -1), m) for d in np.unique(device)], axis=1)


def host_state(host: HostColumns | None, edges: Floats) -> HostState | None:
    """Rates by interval, read off the cumulative columns at the interval's edges."""
    if host is None or len(host.t) < 2:
        return None
    m = len(edges) - 1
    nothing = np.full(m, np.nan)
    slot = _slots(host.t, edges)
    allowed = [p.allowed_cpus for p in host.processes if p.allowed_cpus and p.role in ("api", "engine", "worker")]
    return HostState(
        busy_ratio=_mean_by_slot(host.busy_ratio, slot, m),
        load_per_cpu=_mean_by_slot(host.load1, slot, m) / host.cpus if host.cpus else nothing,
        cpus=host.cpus,
        cpu_quota=host.cpu_quota,
        api_cores=_cores(host, edges, "api"),
        engine_cores=_cores(host, edges, "engine"),
        worker_cores=_cores(host, edges, "worker"),
        run_delay_ratio=_sum_rates(host, edges, [p.run_delay_s for p in host.processes if p.role != "other"]),
        throttled_ratio=_sum_rates(host, edges, [host.throttled_s]),
        psi_cpu_ratio=nothing if host.psi_cpu_ratio is None else _mean_by_slot(host.psi_cpu_ratio, slot, m),
        allowed_cpus=min(allowed) if allowed else None,
        rss_bytes=_rss(host.processes, slot, m),
        throttled_periods_ratio=_mean_or_none(host.throttled_periods_ratio, slot, m),
        mem_available_bytes=_mean_or_none(host.mem_available_bytes, slot, m),
        processes=tuple(_process(host, process, edges, slot) for process in host.processes),
    )


def _process(host: HostColumns, process: ProcessColumns, edges: Floats, slot: NDArray[np.int64]) -> HostProcess:
    m = len(edges) - 1
    delay = process.run_delay_s
    return HostProcess(
        name=process.name,
        role=process.role,
        cores=_rates(host.t, process.cpu_s, edges),
        rss_bytes=_mean_by_slot(process.rss_bytes, slot, m),
        run_delay_ratio=np.full(m, np.nan) if delay is None else _rates(host.t, delay, edges),
    )


def _mean_or_none(column: Floats | None, slot: NDArray[np.int64], m: int) -> Floats | None:
    return None if column is None else _mean_by_slot(column, slot, m)


def client_state(rows: ClientColumns | None, edges: Floats) -> ClientState | None:
    """The client's requests that were sent inside the window; None when there is none."""
    if rows is None or not len(rows.sent):
        return None
    slot = _slots(rows.sent, edges)
    keep = slot >= 0
    if not keep.any():
        return None
    m = len(edges) - 1
    inside = ClientColumns(
        **{f: getattr(rows, f)[keep] for f in rows.__struct_fields__ if f not in ("error", "sender")},
        error=tuple(e for e, k in zip(rows.error, keep, strict=True) if k),
        sender=tuple(s for s, k in zip(rows.sender, keep, strict=False) if k),
    )
    failed = np.array([e is not None for e in inside.error], dtype=float)
    refused = np.array([e is not None and ("503" in e or "429" in e) for e in inside.error], dtype=float)
    lag = inside.sent - inside.intended
    return ClientState(
        rows=inside,
        sent=np.bincount(slot[keep], minlength=m).astype(float),
        errors=np.bincount(slot[keep], weights=failed, minlength=m).astype(float),
        rejected=np.bincount(slot[keep], weights=refused, minlength=m).astype(float),
        ttft_mean_s=_mean_by_slot(rows.ttft_s, slot, m),
        send_lag_p99_s=float(np.nanpercentile(lag, 99)) if np.isfinite(lag).any() else float("nan"),
        max_in_flight=_max_in_flight(inside),
    )


def _max_in_flight(rows: ClientColumns) -> float:
    """Most requests open at once, by a sweep over starts and ends (ends first at a tie)."""
    done = np.isfinite(rows.e2e_s)
    times = np.concatenate((rows.sent[done], rows.sent[done] + rows.e2e_s[done]))
    steps = np.concatenate((np.ones(done.sum()), -np.ones(done.sum())))
    return float(np.cumsum(steps[np.lexsort((steps, times))]).max()) if len(times) else 0.0


def _slots(t: Floats, edges: Floats) -> NDArray[np.int64]:
    """The interval of each time, -1 outside."""
    slot = np.searchsorted(edges, t, side="left") - 1
    return np.where((slot >= 0) & (slot < len(edges) - 1), slot, -1)


def _mean_by_slot(values: Floats, slot: NDArray[np.int64], m: int) -> Floats:
    ok = (slot >= 0) & np.isfinite(values)
    total = np.bincount(slot[ok], weights=values[ok], minlength=m)
    count = np.bincount(slot[ok], minlength=m)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _rates(t: Floats, cumulative: Floats, edges: Floats) -> Floats:
    """Rate of a cumulative column over each interval by interpolation at its edges.

    NaN further outside the column's times than its own sampling step: the two samplers never tick at the same moment.
    """
    ok = np.isfinite(cumulative)
    if ok.sum() < 2:
        return np.full(len(edges) - 1, np.nan)
    seen, column = t[ok], cumulative[ok]
    slack = float(np.median(np.diff(seen)))
    at = np.interp(edges, seen, column)
    at[(edges < seen[0] - slack) | (edges > seen[-1] + slack)] = np.nan
    width = np.diff(np.clip(edges, seen[0], seen[-1]))
    rate = np.diff(at) / np.where(width > 0, width, np.nan)
    return np.where(rate < 0, np.nan, rate)


def _sum_rates(host: HostColumns, edges: Floats, columns: list[Floats | None]) -> Floats:
    rates = [_rates(host.t, column, edges) for column in columns if column is not None]
    return _nansum(rates, len(edges) - 1)


def _cores(host: HostColumns, edges: Floats, role: str) -> Floats:
    """Cores used by the busiest process of a role: several engines or API servers don't add up to one that is full."""
    rates = [_rates(host.t, p.cpu_s, edges) for p in host.processes if p.role == role]
    if not rates:
        return np.full(len(edges) - 1, np.nan)
    stacked = np.stack(rates)
    return np.where(
        np.isnan(stacked).all(axis=0), np.nan, np.nanmax(np.where(np.isnan(stacked), -1.0, stacked), axis=0)
    )


def _rss(processes: tuple[ProcessColumns, ...], slot: NDArray[np.int64], m: int) -> Floats:
    return _nansum([_mean_by_slot(p.rss_bytes, slot, m) for p in processes], m)


def _nansum(rows: list[Floats], m: int) -> Floats:
    if not rows:
        return np.full(m, np.nan)
    stacked = np.stack(rows)
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))


def _positive(values: Floats) -> Floats:
    """A clock or a power limit of zero is one that the driver did not tell."""
    return np.where(values > 0, values, np.nan)


def _nanmax(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if len(finite) else float("nan")

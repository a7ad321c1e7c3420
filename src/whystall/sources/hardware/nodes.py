"""node_exporter's series of a host, with cAdvisor's of the container where a table has them, as host samples."""

from __future__ import annotations

from whystall.model.recording import SeriesTable
from whystall.sources.host import CgroupRow, HostRow

from .samples import Samples, at

_MODES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def host_rows(table: SeriesTable) -> list[HostRow]:
    """A row for each time at which the host told of its CPU or memory; empty where the series are not there."""
    samples = Samples(table)
    modes = {mode: samples.total("node_cpu_seconds_total", mode=mode) for mode in _MODES}
    load, available = samples.first(["node_load1"]), samples.first(["node_memory_MemAvailable_bytes"])
    pressure = samples.first(["node_pressure_cpu_waiting_seconds_total"])
    cpus = len(samples.labels("node_cpu_seconds_total", "cpu")) or None
    throttled = samples.total("container_cpu_cfs_throttled_seconds_total")
    periods = samples.total("container_cpu_cfs_periods_total")
    over = samples.total("container_cpu_cfs_throttled_periods_total")
    quota, period = samples.first(["container_spec_cpu_quota"]), samples.first(["container_spec_cpu_period"])
    rows = []
    for place, t in enumerate(samples.times.tolist()):
        jiffies = {mode: found for mode, values in modes.items() if (found := at(values, place)) is not None}
        group = CgroupRow(
            at(throttled, place), at(periods, place), at(over, place), _quota(at(quota, place), at(period, place))
        )
        one = at(load, place)
        row = HostRow(
            t=t,
            cpus=None if cpus == 1 and not jiffies else cpus,
            loadavg=() if one is None else (one,),
            cpu_jiffies=jiffies,  # seconds, of which only ratios are taken
            psi_cpu_some_s=at(pressure, place),
            mem_available_bytes=at(available, place),
            cgroup=group,
        )
        if jiffies or row.loadavg or row.mem_available_bytes is not None or group != CgroupRow():
            rows.append(row)
    return rows


def _quota(quota: float | None, period: float | None) -> float | None:
    return quota / period if quota and period and quota > 0 else None

"""What Ray's agent on a node reports of it, ``ray_node_*``, as host and GPU samples."""

from __future__ import annotations

from whystall.model.recording import SeriesTable
from whystall.sources.gpu import GpuRow
from whystall.sources.host import HostRow

from .samples import Samples, at

_MB = 2.0**20


def gpu_rows(table: SeriesTable) -> list[GpuRow]:
    """A row for each GPU and time. Utilisation is in percent, memory in MB, power in milliwatts."""
    samples, rows = Samples(table), []
    for number, index in enumerate(samples.labels("ray_node_gpus_utilization", "GpuIndex")):
        key = next(k for k in samples.keys("ray_node_gpus_utilization") if k.label("GpuIndex") == index)
        util = samples.first(["ray_node_gpus_utilization"], GpuIndex=index)
        used, free = (samples.first([f"ray_node_gram_{name}"], GpuIndex=index) for name in ("used", "available"))
        power = samples.first(["ray_node_gpu_power_milliwatts"], GpuIndex=index)
        heat = samples.first(["ray_node_gpu_temperature_celsius"], GpuIndex=index)
        for place, t in enumerate(samples.times.tolist()):
            memory = at(used, place, _MB), at(free, place, _MB)
            rows.append(
                GpuRow(
                    t=t,
                    gpu=int(index) if index.isdigit() and len(index) < 5 else number,
                    name=key.label("GpuDeviceName") or None,
                    util_gpu_pct=at(util, place),
                    mem_used_bytes=memory[0],
                    mem_total_bytes=memory[0] + memory[1] if memory[0] is not None and memory[1] is not None else None,
                    power_w=at(power, place, 1e-3),
                    temp_c=at(heat, place),
                )
            )
    return sorted(rows, key=lambda row: (row.t, row.gpu))


def host_rows(table: SeriesTable) -> list[HostRow]:
    """A row for each time. Ray tells a percentage of the CPU, which stands here as its cumulative time."""
    samples, rows = Samples(table), []
    busy, cpus = samples.first(["ray_node_cpu_utilization"]), samples.first(["ray_node_cpu_count"])
    memory = samples.first(["ray_node_mem_available"])
    worked = idle = 0.0
    before = float(samples.times[0]) if len(samples.times) else 0.0
    for place, t in enumerate(samples.times.tolist()):
        share, count = at(busy, place, 0.01), at(cpus, place)
        if share is not None:
            worked, idle = worked + share * (t - before), idle + (1 - share) * (t - before)
        before = t
        rows.append(
            HostRow(
                t=t,
                cpus=int(count) if count is not None and 0 < count < 1e6 else None,
                cpu_jiffies={"user": worked, "idle": idle} if share is not None else {},
                mem_available_bytes=at(memory, place),
            )
        )
    return rows if busy is not None or memory is not None else []

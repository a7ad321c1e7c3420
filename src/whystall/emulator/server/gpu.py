"""What the GPU's own counters say: a DCGM-exporter page from the work that the engine did."""

from __future__ import annotations

import msgspec

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.profile import StepProfile

_MIB = 1024**2
_HEADER = "# HELP {name} {text}\n# TYPE {name} {kind}\n"
_FIELDS = (
    ("DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz)."),
    ("DCGM_FI_DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz)."),
    ("DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."),
    ("DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W)."),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ)."),
    ("DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %)."),
    ("DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %)."),
    ("DCGM_FI_DEV_XID_ERRORS", "gauge", "Value of the last XID error encountered."),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gauge", "Current clock event reasons (bitmask)."),
    ("DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB)."),
    ("DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB)."),
    ("DCGM_FI_PROF_DRAM_ACTIVE", "gauge", "Ratio of cycles the device memory interface is active."),
    ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", "Ratio of cycles the tensor (HMMA) pipe is active."),
)


class GpuState(msgspec.Struct):
    """The device beside the engine: what faults change of it. ``clock_ratio`` is of the highest SM clock."""

    clock_ratio: float = 1.0
    throttle_bits: int = 0
    xid: int = 0
    temperature_c: float = 55.0
    max_clock_mhz: float = 1980.0
    power_limit_w: float = 700.0
    memory_extra_bytes: float = 0.0
    bandwidth_ratio: float = 1.0  # of the memory's full rate
    slow_rank: int | None = None  # the one for which the other ranks of a replica wait in collectives


class GpuGauge:
    """Reads the device's counters over the time since the last reading, as a monitoring agent samples them.

    One for the GPUs of a replica, which differ by their rank only. ``profile`` is the one that the replica started with:
    what it says of bytes stays true when a fault makes kernels slower.
    """

    def __init__(self, start: float, profile: StepProfile) -> None:
        self.state = GpuState()
        self.reads = profile
        self._at = start
        self._tokens = self._steps = self._kernel_s = self._collective_s = 0.0
        self._energy_mj = 0.0
        self._busy = self._waiting = self._dram = self._tensor = 0.0

    def page(self, engine: Engine, now: float, steps: float, tokens: float, labels: str, rank: int = 0) -> str:
        """The exporter's page. ``steps`` and ``tokens`` computed since the engine started."""
        self._read(engine, now, steps, tokens)
        values = self._values(engine.clock.profile, rank)
        return "".join(
            _HEADER.format(name=name, text=text, kind=kind) + f"{name}{{{labels}}} {values[name]:g}\n"
            for name, kind, text in _FIELDS
        )

    def sample(self, engine: Engine, now: float, steps: float, tokens: float, rank: int = 0) -> dict[str, object]:
        """The same as an NVML sample, in the columns of a recording's ``gpu.jsonl``."""
        self._read(engine, now, steps, tokens)
        values, state = self._values(engine.clock.profile, rank), self.state
        total = engine.clock.profile.memory_bytes or 80 * 1024**3
        return {
            "name": f"emulated {engine.clock.profile.gpu}",
            "util_gpu_pct": values["DCGM_FI_DEV_GPU_UTIL"],
            "util_mem_pct": values["DCGM_FI_DEV_MEM_COPY_UTIL"],
            "mem_used_bytes": int(values["DCGM_FI_DEV_FB_USED"] * _MIB),
            "mem_total_bytes": int(total),
            "power_w": values["DCGM_FI_DEV_POWER_USAGE"],
            "power_limit_w": state.power_limit_w,
            "temp_c": state.temperature_c,
            "sm_clock_mhz": values["DCGM_FI_DEV_SM_CLOCK"],
            "sm_max_clock_mhz": state.max_clock_mhz,
            "mem_clock_mhz": values["DCGM_FI_DEV_MEM_CLOCK"],
            "throttle_reasons": int(values["DCGM_FI_DEV_CLOCKS_EVENT_REASONS"]),
        }

    def _read(self, engine: Engine, now: float, steps: float, tokens: float) -> None:
        profile = engine.clock.profile
        seconds = now - self._at
        if seconds < 0.2:
            return
        made, computed = steps - self._steps, tokens - self._tokens
        kernels = engine.clock.kernel_s - self._kernel_s
        self._kernel_s = engine.clock.kernel_s
        collectives = engine.clock.collective_s - self._collective_s
        self._collective_s = engine.clock.collective_s
        self._busy = min(kernels / seconds, 1.0)
        self._waiting = min(collectives / seconds, self._busy)
        self._dram = min(0.86 * made * self._read_s(engine) / self.state.bandwidth_ratio / seconds, 0.9)
        self._tensor = min(0.5 * computed * profile.token_s / seconds, 0.7)
        self._at, self._steps, self._tokens = now, steps, tokens
        self._energy_mj += self._power(0) * seconds * 1000

    def _read_s(self, engine: Engine) -> float:
        """What a step needs at least to read weights and resident KV tokens."""
        pool, reads = engine.scheduler.pool, self.reads
        resident = pool.usage_ratio * pool.num_blocks * engine.options.block_size
        return reads.floor_s + reads.decode_context_s * resident

    def _power(self, rank: int) -> float:
        """A rank that waits in a collective spins: its kernel counts as use and draws a third of what work draws."""
        state = self.state
        waiting = 0.0 if rank == state.slow_rank else self._waiting
        work = 0.45 * (self._busy - waiting) + 0.15 * waiting + 0.8 * self._tensor
        draw = 90 + (state.power_limit_w - 90) * min(work, 1.0) * state.clock_ratio
        return min(draw, state.power_limit_w)

    def _values(self, profile: StepProfile, rank: int) -> dict[str, float]:
        state = self.state
        total = profile.memory_bytes or 80 * 1024**3
        used = min(0.92 * total + state.memory_extra_bytes, total)
        return {
            "DCGM_FI_DEV_SM_CLOCK": round(state.max_clock_mhz * (state.clock_ratio if self._busy > 0.01 else 0.3)),
            "DCGM_FI_DEV_MEM_CLOCK": 3201,
            "DCGM_FI_DEV_GPU_TEMP": round(state.temperature_c),
            "DCGM_FI_DEV_POWER_USAGE": round(self._power(rank), 1),
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": round(self._energy_mj),
            "DCGM_FI_DEV_GPU_UTIL": round(100 * min(self._busy * 1.05, 1.0)),
            "DCGM_FI_DEV_MEM_COPY_UTIL": round(100 * self._dram),
            "DCGM_FI_DEV_XID_ERRORS": state.xid,
            "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": state.throttle_bits if self._busy > 0.01 else 1,
            "DCGM_FI_DEV_FB_FREE": round((total - used) / _MIB),
            "DCGM_FI_DEV_FB_USED": round(used / _MIB),
            "DCGM_FI_PROF_DRAM_ACTIVE": round(self._dram, 4),
            "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE": round(self._tensor, 4),
        }

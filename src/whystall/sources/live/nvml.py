"""GPU samples by NVML, as the lines of a recording's gpu.jsonl have them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import msgspec

from .sink import Row

_UNKNOWN_LIBRARY = "the library of the NVIDIA driver is not on this host"


class GpuSampler:
    """Reads GPUs of this host. Call it in a thread: NVML watches each of the two PCIe counters for 20 ms."""

    def __init__(self, nvml: Any, handles: list[tuple[int, Any]]) -> None:
        self._nvml = nvml
        self._handles = handles

    def sample(self, t: float) -> list[Row]:
        """A row a GPU; what the driver does not tell is None."""
        return [{"t": t, "gpu": index} | self._read(handle) for index, handle in self._handles]

    def _read(self, handle: Any) -> Row:
        return {name: self._one(read, handle) for name, read in _fields(self._nvml).items()}

    def _one(self, read: Callable[[Any], Any], handle: Any) -> Any:
        try:
            value = read(handle)
        except (self._nvml.NVMLError, AttributeError):  # AttributeError: an older nvidia-ml-py
            return None
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def close(self) -> None:
        self._nvml.nvmlShutdown()


class NoGpu(msgspec.Struct, frozen=True):
    """Why there are no GPU samples, and what would give them."""

    reason: str
    hint: str = ""


def open_gpus(pids: frozenset[int] = frozenset()) -> GpuSampler | NoGpu:
    """The GPUs of this host that processes ``pids`` use, all where none is seen to; or why there are none to read."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return NoGpu("nvidia-ml-py is not installed", "pip install 'whystall[gpu]'")
    try:
        nvml.nvmlInit()
        handles = [(index, nvml.nvmlDeviceGetHandleByIndex(index)) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError as error:
        missing = isinstance(error, nvml.NVMLError_LibraryNotFound)
        return NoGpu(_UNKNOWN_LIBRARY if missing else f"NVML does not answer: {error}", "run whystall beside the GPU")
    if not handles:
        nvml.nvmlShutdown()
        return NoGpu("NVML sees no GPU", "in a container, give it the GPUs (--gpus all)")
    return GpuSampler(nvml, [pair for pair in handles if _uses(nvml, pair[1], pids)] or handles)


def _uses(nvml: Any, handle: Any, pids: frozenset[int]) -> bool:
    try:
        return any(process.pid in pids for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle))
    except nvml.NVMLError:
        return False


def _fields(nv: Any) -> dict[str, Callable[[Any], Any]]:
    return {
        "name": nv.nvmlDeviceGetName,
        "util_gpu_pct": lambda h: nv.nvmlDeviceGetUtilizationRates(h).gpu,
        "util_mem_pct": lambda h: nv.nvmlDeviceGetUtilizationRates(h).memory,
        "mem_used_bytes": lambda h: nv.nvmlDeviceGetMemoryInfo(h).used,
        "mem_total_bytes": lambda h: nv.nvmlDeviceGetMemoryInfo(h).total,
        "power_w": lambda h: nv.nvmlDeviceGetPowerUsage(h) / 1000,
        "power_limit_w": lambda h: nv.nvmlDeviceGetEnforcedPowerLimit(h) / 1000,
        "temp_c": lambda h: nv.nvmlDeviceGetTemperature(h, nv.NVML_TEMPERATURE_GPU),
        "sm_clock_mhz": lambda h: nv.nvmlDeviceGetClockInfo(h, nv.NVML_CLOCK_SM),
        "sm_max_clock_mhz": lambda h: nv.nvmlDeviceGetMaxClockInfo(h, nv.NVML_CLOCK_SM),
        "mem_clock_mhz": lambda h: nv.nvmlDeviceGetClockInfo(h, nv.NVML_CLOCK_MEM),
        "throttle_reasons": nv.nvmlDeviceGetCurrentClocksThrottleReasons,
        "pcie_tx_kbps": lambda h: nv.nvmlDeviceGetPcieThroughput(h, nv.NVML_PCIE_UTIL_TX_BYTES),
        "pcie_rx_kbps": lambda h: nv.nvmlDeviceGetPcieThroughput(h, nv.NVML_PCIE_UTIL_RX_BYTES),
    }

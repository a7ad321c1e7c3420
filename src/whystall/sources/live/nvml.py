"""GPU samples by NVML, as the lines of a recording's gpu.jsonl have them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import msgspec

from whystall.model.text import Text

from .sink import Row

_NO_LIBRARY = Text("the library of the NVIDIA driver is not on this host", "此主机上没有 NVIDIA 驱动库")
_NO_ANSWER = Text("NVML does not answer: {error}", "NVML 没有响应：{error}")
_BESIDE = Text("run whystall beside the GPU", "在 GPU 所在的主机上运行 whystall")
_NOT_INSTALLED = Text("nvidia-ml-py is not installed", "未安装 nvidia-ml-py")
_NONE_SEEN = Text("NVML sees no GPU", "NVML 没有看到 GPU")
_GIVE = Text("in a container, give it the GPUs (--gpus all)", "在容器中请传入 GPU（--gpus all）")


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

    reason: Text
    hint: Text = Text("")


def open_gpus(pids: frozenset[int] = frozenset()) -> GpuSampler | NoGpu:
    """The GPUs of this host that processes ``pids`` use, all where none is seen to; or why there are none to read."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return NoGpu(_NOT_INSTALLED, Text("pip install 'whystall[gpu]'"))
    try:
        nvml.nvmlInit()
        handles = [(index, nvml.nvmlDeviceGetHandleByIndex(index)) for index in range(nvml.nvmlDeviceGetCount())]
    except nvml.NVMLError as error:
        missing = isinstance(error, nvml.NVMLError_LibraryNotFound)
        return NoGpu(_NO_LIBRARY if missing else _NO_ANSWER.format(error=str(error)), _BESIDE)
    if not handles:
        nvml.nvmlShutdown()
        return NoGpu(_NONE_SEEN, _GIVE)
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

"""A stand-in for the driver: what pynvml answers, without a GPU."""

import sys
import types

import pytest

from whystall.sources.gpu import GpuRow
from whystall.sources.live.nvml import GpuSampler, NoGpu, open_gpus


class NVMLError(Exception):
    pass


class NVMLError_LibraryNotFound(NVMLError):
    pass


class Fake(types.ModuleType):
    """Two GPUs; process 42 runs on the second. ``refuses`` are the calls that are not supported."""

    def __init__(self, count: int = 2, refuses: tuple[str, ...] = (), init: Exception | None = None) -> None:
        super().__init__("pynvml")
        self.NVMLError, self.NVMLError_LibraryNotFound = NVMLError, NVMLError_LibraryNotFound
        self.NVML_TEMPERATURE_GPU = self.NVML_CLOCK_SM = self.NVML_PCIE_UTIL_TX_BYTES = 0
        self.NVML_CLOCK_MEM = self.NVML_PCIE_UTIL_RX_BYTES = 1
        self.shut = False
        self._count, self._refuses, self._init = count, refuses, init

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        answers = {
            "nvmlDeviceGetCount": lambda: self._count,
            "nvmlDeviceGetHandleByIndex": lambda index: index,
            "nvmlDeviceGetName": lambda h: b"NVIDIA H200",
            "nvmlDeviceGetUtilizationRates": lambda h: types.SimpleNamespace(gpu=90 + h, memory=50),
            "nvmlDeviceGetMemoryInfo": lambda h: types.SimpleNamespace(used=7, total=9),
            "nvmlDeviceGetPowerUsage": lambda h: 123_500,
            "nvmlDeviceGetEnforcedPowerLimit": lambda h: 700_000,
            "nvmlDeviceGetTemperature": lambda h, kind: 40,
            "nvmlDeviceGetClockInfo": lambda h, kind: 1980 + kind,
            "nvmlDeviceGetMaxClockInfo": lambda h, kind: 2000,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda h: 4,
            "nvmlDeviceGetPcieThroughput": lambda h, kind: 1000 + kind,
            "nvmlDeviceGetComputeRunningProcesses": lambda h: [types.SimpleNamespace(pid=42)] if h == 1 else [],
        }

        def call(*args):
            if name == "nvmlInit" and self._init:
                raise self._init
            if name in self._refuses:
                raise NVMLError("Not Supported")
            if name == "nvmlShutdown":
                self.shut = True
            return answers.get(name, lambda: None)(*args)

        return call


def opened(monkeypatch: pytest.MonkeyPatch, fake: Fake, pids: frozenset[int] = frozenset()) -> GpuSampler | NoGpu:
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return open_gpus(pids)


def test_a_row_a_gpu_with_the_fields_of_a_recording(monkeypatch) -> None:
    gpus = opened(monkeypatch, Fake())
    assert isinstance(gpus, GpuSampler)
    rows = gpus.sample(5.0)
    assert [row["gpu"] for row in rows] == [0, 1]
    assert rows[0] == {
        "t": 5.0,
        "gpu": 0,
        "name": "NVIDIA H200",
        "util_gpu_pct": 90,
        "util_mem_pct": 50,
        "mem_used_bytes": 7,
        "mem_total_bytes": 9,
        "power_w": 123.5,
        "power_limit_w": 700.0,
        "temp_c": 40,
        "sm_clock_mhz": 1980,
        "sm_max_clock_mhz": 2000,
        "mem_clock_mhz": 1981,
        "throttle_reasons": 4,
        "pcie_tx_kbps": 1000,
        "pcie_rx_kbps": 1001,
    }
    assert set(rows[0]) == set(GpuRow.__struct_fields__)


def test_only_the_gpus_that_the_servers_processes_use(monkeypatch) -> None:
    gpus = opened(monkeypatch, Fake(), frozenset({42}))
    assert isinstance(gpus, GpuSampler)
    assert [row["gpu"] for row in gpus.sample(0.0)] == [1]


def test_all_where_no_process_is_seen_on_any(monkeypatch) -> None:
    for fake in (Fake(), Fake(refuses=("nvmlDeviceGetComputeRunningProcesses",))):
        gpus = opened(monkeypatch, fake, frozenset({7}))
        assert isinstance(gpus, GpuSampler)
        assert len(gpus.sample(0.0)) == 2


def test_what_the_driver_does_not_tell_is_none(monkeypatch) -> None:
    gpus = opened(monkeypatch, Fake(refuses=("nvmlDeviceGetPowerUsage", "nvmlDeviceGetPcieThroughput")))
    assert isinstance(gpus, GpuSampler)
    row = gpus.sample(0.0)[0]
    assert row["power_w"] is None
    assert row["pcie_tx_kbps"] is None
    assert row["power_limit_w"] == 700.0


def test_why_there_is_none(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    found = open_gpus()
    assert isinstance(found, NoGpu)
    assert "not installed" in found.reason.en
    for fake, word in (
        (Fake(init=NVMLError_LibraryNotFound()), "driver"),
        (Fake(init=NVMLError("Driver/library version mismatch")), "mismatch"),
        (Fake(count=0), "no GPU"),
    ):
        found = opened(monkeypatch, fake)
        assert isinstance(found, NoGpu)
        assert word in found.reason.en
        assert found.reason.zh != found.reason.en
        assert found.hint.en


def test_closing_ends_nvml(monkeypatch) -> None:
    fake = Fake()
    gpus = opened(monkeypatch, fake)
    assert isinstance(gpus, GpuSampler)
    gpus.close()
    assert fake.shut

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from whystall.errors import NotATrace, UsageError
from whystall.profiles.ncu_report import read_ncu_report


class Metric:
    def __init__(self, value: float, unit: str) -> None:
        self._value, self._unit = value, unit

    def value(self) -> float:
        return self._value

    def unit(self) -> str:
        return self._unit


class Action:
    METRICS: ClassVar = {
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": Metric(90.0, "%"),
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": Metric(10.0, "%"),
        "gpu__time_duration.sum": Metric(5000.0, "ns"),
    }

    def name(self) -> str:
        return "nvjet_tst"

    def metric_names(self) -> list[str]:
        return list(self.METRICS)

    def metric_by_name(self, name: str) -> Metric:
        return self.METRICS[name]


def module(actions: list[Action]) -> Any:
    part = SimpleNamespace(num_actions=lambda: len(actions), action_by_idx=lambda n: actions[n])
    return SimpleNamespace(load_report=lambda _: SimpleNamespace(num_ranges=lambda: 1, range_by_idx=lambda _: part))


def test_through_nvidias_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its interface as Nsight Compute documents it; the module itself comes with the tool."""
    monkeypatch.setitem(sys.modules, "ncu_report", module([Action()]))
    (kernel,) = read_ncu_report(tmp_path / "a.ncu-rep").kernels
    assert (kernel.bound, kernel.duration_ns, kernel.class_id) == ("compute", 5000, "gemm")
    monkeypatch.setitem(sys.modules, "ncu_report", module([]))
    with pytest.raises(NotATrace):
        read_ncu_report(tmp_path / "a.ncu-rep")


def test_without_the_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(UsageError, match="not installed"):
        read_ncu_report(tmp_path / "a.ncu-rep")

"""Nsight Compute's own report files, through the Python module that comes with it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from whystall.errors import NotATrace, UsageError

from .kernels import Classifier
from .ncu import CounterSummary, Launch, put_metric, summarise_counters


def read_ncu_report(path: Path, classifier: Classifier | None = None) -> CounterSummary:
    """All kernels of an ``.ncu-rep``. Raises :class:`UsageError` where Nsight Compute's module is not installed."""
    try:
        module = importlib.import_module("ncu_report")
    except ImportError as error:
        raise UsageError(
            f"{path.name} needs Nsight Compute's Python module ncu_report, which is not installed",
            "Put <Nsight Compute>/extras/python on PYTHONPATH, or convert: ncu --import FILE --csv --page raw > FILE.csv",
        ) from error
    launches = [_launch(action) for action in _actions(module.load_report(str(path)))]
    if not launches:
        raise NotATrace(f"{path.name} holds no kernels", "Record again with ncu --set full.")
    return summarise_counters(launches, classifier or Classifier())


def _actions(report: Any) -> list[Any]:
    ranges = [report.range_by_idx(number) for number in range(report.num_ranges())]
    return [part.action_by_idx(number) for part in ranges for number in range(part.num_actions())]


def _launch(action: Any) -> Launch:
    launch = Launch(str(action.name()), {}, rules=[])
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        put_metric(launch, str(name), str(metric.unit() or ""), str(metric.value()))
    return launch

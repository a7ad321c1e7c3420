"""Runs an experiment on the emulator and compares what was expected with what was seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import inject, prepared
from whystall.emulator.server.recorder import record_run
from whystall.model.recording import GpuColumns, Recording
from whystall.sources.files.recording import read_recording
from whystall.state.counters import increases
from whystall.state.series import EngineSeries, split_engines

from .experiment import Experiment, Observation, Outcome

Floats = NDArray[np.float64]
_START = 1_790_000_000.0  # emulated time; any will do, and a fixed one makes runs comparable
_SETTLE_S = 5.0
UNITS = {
    "ttft": "s",
    "itl": "s",
    "queue": "s",
    "throughput": "tokens/s",
    "running": "requests",
    "waiting": "requests",
    "kv_usage": "ratio",
    "preemptions": "1/s",
    "rejections": "1/s",
    "gpu_util": "ratio",
    "power": "W",
}


def run_experiment(experiment: Experiment, folder: Path) -> tuple[Outcome, Recording]:
    """Run ``experiment``; its recording is kept in ``folder``."""
    deployment = Deployment(prepared(experiment.serving, experiment.planned), start=_START)
    for planned in experiment.planned:
        inject(deployment, planned)
    record_run(deployment, folder, seconds=experiment.seconds)
    recording = read_recording(folder)
    before = figures(recording, _SETTLE_S, experiment.at_s)
    after = figures(recording, experiment.at_s + _SETTLE_S, experiment.seconds)
    return compared(experiment, before, after), recording


def compared(experiment: Experiment, before: dict[str, float], after: dict[str, float]) -> Outcome:
    """Each expectation against the figures."""
    nan = float("nan")
    seen = [
        Observation(e, b := before.get(e.figure, nan), a := after.get(e.figure, nan), e.holds(b, a))
        for e in experiment.expectations
    ]
    return Outcome(experiment, before, after, tuple(seen))


def figures(recording: Recording, start: float, stop: float) -> dict[str, float]:
    """The figures of a window, seconds after the first scrape; NaN where nothing was seen."""
    series = split_engines(recording.metrics)[0]
    times = recording.metrics.times - recording.metrics.times[0]
    inside = (times[1:] > start) & (times[1:] <= stop)
    seconds = max(stop - start, 1e-9)
    return {
        "ttft": _mean(series, "time_to_first_token_seconds", inside),
        "itl": _mean(series, "inter_token_latency_seconds", inside),
        "queue": _mean(series, "request_queue_time_seconds", inside),
        "throughput": _total(series, "generation_tokens", inside) / seconds,
        "running": _gauge(series, "num_requests_running", inside),
        "waiting": _gauge(series, "num_requests_waiting", inside),
        "kv_usage": _gauge(series, "kv_cache_usage_perc", inside),
        "preemptions": _total(series, "num_preemptions", inside) / seconds,
        "rejections": _total(series, "admission_rejections", inside) / seconds,
        **_gpu(recording.gpu, recording.metrics.times[0] + start, recording.metrics.times[0] + stop),
    }


def _total(series: EngineSeries, name: str, inside: NDArray[np.bool_], part: str = "value") -> float:
    return float(np.nansum(increases(series.total(name, part))[inside]))


def _mean(series: EngineSeries, name: str, inside: NDArray[np.bool_]) -> float:
    count = _total(series, name, inside, "count")
    return _total(series, name, inside, "sum") / count if count else float("nan")


def _gauge(series: EngineSeries, name: str, inside: NDArray[np.bool_]) -> float:
    values = series.total(name)[1:][inside]
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")


def _gpu(gpu: GpuColumns | None, start: float, stop: float) -> dict[str, float]:
    if gpu is None:
        return {}
    inside = (gpu.t > start) & (gpu.t <= stop)
    if not inside.any():
        return {}
    return {"gpu_util": float(np.nanmean(gpu.util_ratio[inside])), "power": float(np.nanmean(gpu.power_w[inside]))}

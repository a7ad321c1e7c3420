"""What moved with the losses, and how long before: rank correlation at the lag where it is strongest.

A view for people. No cause weighs it: what moves together need not cause.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from whystall.model.load import Lagged
from whystall.model.text import Text
from whystall.state.histograms import means

from .scene import Scene
from .workload import arrivals

Floats = NDArray[np.float64]
MOST = 5
LEAST_INTERVALS = 20  # fewer points rank by chance
LONGEST_S = 30.0
LEAST = 0.7  # a weaker one is no help to a reader
LEAST_SPREAD = 1e-9


def lags(scene: Scene) -> tuple[Lagged, ...]:
    """The strongest pairs of a signal and a loss over the whole window; none where nothing hurts."""
    if not scene.focus.hurts or len(scene.state.dt) < LEAST_INTERVALS:
        return ()
    found = [
        pair
        for loss, label, after in _losses(scene)
        for signal, named, before in _signals(scene)
        if signal != loss and (pair := _strongest(scene, (signal, named, before), (loss, label, after))) is not None
    ]
    best = sorted(found, key=lambda pair: -abs(pair.correlation))
    return tuple(best[:MOST])


def _losses(scene: Scene) -> Iterator[tuple[str, Text, Floats]]:
    state = scene.state
    yield "waiting", Text("waiting requests", "等待的请求"), state.waiting_end
    yield "ttft", Text("time to first token", "首 token 时间"), means(state.ttft)
    yield "itl", Text("inter-token latency", "token 间隔"), means(state.itl)


def _signals(scene: Scene) -> Iterator[tuple[str, Text, Floats]]:
    state = scene.state
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.where(state.first_tokens > 0, state.prompt_tokens / state.first_tokens, np.nan)
        hits = np.where(state.prefix_queries > 0, state.prefix_hits / state.prefix_queries, np.nan)
    yield "arrivals", Text("arrivals", "到达的请求"), arrivals(scene) / state.dt
    yield "prompt_tokens", Text("prompt tokens a request", "每请求提示 token"), each
    yield "computed_tokens", Text("prompt tokens computed", "计算的提示 token"), state.computed_tokens / state.dt
    yield "running", Text("running requests", "运行中的请求"), state.running_end
    yield "kv_usage", Text("KV usage", "KV 使用率"), state.kv_usage_end
    yield "preemptions", Text("preemptions", "抢占次数"), state.preemptions / state.dt
    yield "prefix_hits", Text("prefix cache hits", "前缀缓存命中"), hits
    yield "api_cores", Text("CPU of the API process", "API 进程 CPU"), state.api_cores
    if state.gpu is not None:
        yield "gpu_clock", Text("GPU clock", "GPU 时钟"), state.gpu.sm_clock_hz
        yield "gpu_util", Text("GPU utilisation", "GPU 利用率"), state.gpu.util_ratio


def _strongest(scene: Scene, signal: tuple[str, Text, Floats], loss: tuple[str, Text, Floats]) -> Lagged | None:
    """The pair at its best lag. Intervals count as equally long: their median length makes steps into seconds."""
    step = float(np.median(scene.state.dt))
    most = min(int(LONGEST_S / step), len(scene.state.dt) - LEAST_INTERVALS)
    best: tuple[float, int, int] | None = None
    for lag in range(max(most, 0) + 1):
        before, after = signal[2][: len(signal[2]) - lag], loss[2][lag:]
        both = np.isfinite(before) & np.isfinite(after) & scene.state.valid[lag:]
        if both.sum() < LEAST_INTERVALS:
            continue
        found = rank_correlation(before[both], after[both])
        if best is None or abs(found) > abs(best[0]) + 0.02:  # a longer lag must be better by more than noise
            best = found, lag, int(both.sum())
    if best is None or abs(best[0]) < LEAST:
        return None
    return Lagged(signal[0], signal[1], loss[0], loss[1], best[1] * step, best[0], best[2])


def rank_correlation(x: Floats, y: Floats) -> float:
    """Spearman's: the correlation of the ranks, ties sharing their mean rank; 0 where either does not vary."""
    a, b = _ranks(x), _ranks(y)
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / spread if spread > LEAST_SPREAD else 0.0


def _ranks(values: Floats) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)

"""``vllm bench serve --save-result``: one JSON object; with ``--save-detailed`` every request's times are in it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from whystall.model.trial import Metric

from .result import BenchmarkResult

_SUMMARIES: dict[Metric, str] = {
    "ttft_mean": "mean_ttft_ms",
    "ttft_p50": "median_ttft_ms",
    "ttft_p95": "p95_ttft_ms",
    "itl_mean": "mean_itl_ms",
    "itl_p50": "median_itl_ms",
    "itl_p95": "p95_itl_ms",
    "e2e_mean": "mean_e2el_ms",
    "e2e_p95": "p95_e2el_ms",
}


class VllmBench(msgspec.Struct, frozen=True):
    """The keys that are read. Times of single requests are seconds, summaries milliseconds."""

    completed: int
    duration: float
    request_throughput: float
    output_throughput: float
    total_output_tokens: int
    failed: int = 0
    num_prompts: int | None = None
    model_id: str = ""
    request_rate: float | str | None = None  # "inf" where all went out at once
    max_concurrency: float | None = None
    request_goodput: float | None = None
    ttfts: tuple[float, ...] = ()
    itls: tuple[tuple[float, ...], ...] = ()
    latencies: tuple[float, ...] = ()
    queue_times: tuple[float, ...] = ()
    errors: tuple[str | None, ...] = ()
    mean_ttft_ms: float | None = None
    median_ttft_ms: float | None = None
    p95_ttft_ms: float | None = None
    mean_itl_ms: float | None = None
    median_itl_ms: float | None = None
    p95_itl_ms: float | None = None
    mean_e2el_ms: float | None = None
    p95_e2el_ms: float | None = None

    def result(self) -> BenchmarkResult:
        """The run in our terms; what the summaries lack is computed from single requests where they are there."""
        failed = max(self.failed, (self.num_prompts or self.completed) - self.completed)
        requests = self.completed + failed
        figures = {
            metric: value / 1e3 for metric, key in _SUMMARIES.items() if (value := getattr(self, key)) is not None
        }
        figures = self._from_requests() | figures
        figures["tokens_per_s"] = self.output_throughput
        figures["errors"] = failed / max(requests, 1)
        figures["output_tokens"] = self.total_output_tokens / max(self.completed, 1)
        if self.request_goodput is not None:
            figures["goodput"] = self.request_goodput
        return BenchmarkResult(
            tool="vllm bench serve",
            figures=figures,
            requests=requests,
            failed=failed,
            seconds=self.duration,
            model=self.model_id,
            rate=_finite(self.request_rate),
            concurrency=self.max_concurrency,
            waited_s=float(np.mean(self.queue_times)) if self.queue_times else 0.0,
        )

    def _from_requests(self) -> dict[Metric, float]:
        good = [not error for error in self.errors] if self.errors else [True] * len(self.ttfts)
        gaps = [gap for request in self.itls for gap in request]
        found: dict[Metric, float] = {}
        for name, values in (("ttft", _kept(self.ttfts, good)), ("itl", gaps), ("e2e", _kept(self.latencies, good))):
            found |= _summary(name, values)
        return found


def _kept(values: Sequence[float], good: Sequence[bool]) -> list[float]:
    return [value for value, fine in zip(values, good, strict=False) if fine]


def _summary(name: str, values: Sequence[float]) -> dict[Metric, float]:
    if not values:
        return {}
    found = {f"{name}_mean": float(np.mean(values)), f"{name}_p95": float(np.quantile(values, 0.95))}
    if name != "e2e":
        found[f"{name}_p50"] = float(np.median(values))
    return found  # type: ignore[return-value]  # the names above are metrics


def _finite(rate: float | str | None) -> float | None:
    try:
        value = float(rate) if rate is not None else math.inf
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None

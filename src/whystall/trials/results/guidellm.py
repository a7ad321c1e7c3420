"""GuideLLM's ``benchmarks.json``: a report with one benchmark for each rate that was run."""

from __future__ import annotations

from typing import Any

import msgspec

from whystall.errors import UsageError
from whystall.model.trial import Metric

from .result import BenchmarkResult


class _Distribution(msgspec.Struct, frozen=True):
    mean: float = 0.0
    median: float = 0.0
    count: int = 0
    percentiles: dict[str, float] = {}


class _ByStatus(msgspec.Struct, frozen=True):
    successful: _Distribution = _Distribution()


class _Metrics(msgspec.Struct, frozen=True):
    """``request_latency`` is seconds, names that end with ``_ms`` milliseconds."""

    request_latency: _ByStatus = _ByStatus()
    time_to_first_token_ms: _ByStatus = _ByStatus()
    inter_token_latency_ms: _ByStatus = _ByStatus()
    output_tokens_per_second: _ByStatus = _ByStatus()
    output_token_count: _ByStatus = _ByStatus()
    requests_per_second: _ByStatus = _ByStatus()


class _Counts(msgspec.Struct, frozen=True):
    successful: int = 0
    errored: int = 0


class _Run(msgspec.Struct, frozen=True):
    requests_made: _Counts = _Counts()


class _Benchmark(msgspec.Struct, frozen=True):
    """Counts stand in ``scheduler_metrics``, in versions before 0.4 in ``run_stats``."""

    metrics: _Metrics
    duration: float = 0.0
    scheduler_metrics: _Run | None = None
    run_stats: _Run | None = None
    config: dict[str, Any] = {}
    args: dict[str, Any] = {}

    @property
    def counts(self) -> _Counts:
        return (self.scheduler_metrics or self.run_stats or _Run()).requests_made

    def strategy(self) -> dict[str, Any]:
        """How requests were sent: its type, and its rate or streams where it has one."""
        found = (self.config or self.args).get("strategy")
        return found if isinstance(found, dict) else {}


class GuideLlm(msgspec.Struct, frozen=True):
    """The report; only what is compared is read."""

    benchmarks: tuple[_Benchmark, ...]

    def result(self, number: int | None = None) -> BenchmarkResult:
        """Benchmark ``number`` (from 1). Raises UsageError where there are several and none is named, or no such one."""
        count = len(self.benchmarks)
        if number is None and count != 1:
            raise UsageError(f"the report holds {count} benchmarks", f"Say which one: --benchmark 1 to {count}.")
        if not 1 <= (number or 1) <= count:
            raise UsageError(f"there is no benchmark {number} in a report of {count}", "They are counted from 1.")
        return _result(self.benchmarks[(number or 1) - 1])


def _result(run: _Benchmark) -> BenchmarkResult:
    figures: dict[Metric, float] = {}
    for metric, found, scale in (
        ("ttft", run.metrics.time_to_first_token_ms.successful, 1e-3),
        ("itl", run.metrics.inter_token_latency_ms.successful, 1e-3),
        ("e2e", run.metrics.request_latency.successful, 1.0),
    ):
        if found.count or found.mean:
            figures |= {f"{metric}_mean": found.mean * scale}  # type: ignore[dict-item]
            if metric != "e2e":
                figures |= {f"{metric}_p50": found.median * scale}  # type: ignore[dict-item]
            if (tail := found.percentiles.get("p95")) is not None:
                figures |= {f"{metric}_p95": tail * scale}  # type: ignore[dict-item]
    counts = run.counts
    requests = counts.successful + counts.errored
    figures["tokens_per_s"] = run.metrics.output_tokens_per_second.successful.mean
    figures["output_tokens"] = run.metrics.output_token_count.successful.mean
    figures["errors"] = counts.errored / max(requests, 1)
    strategy = run.strategy()
    return BenchmarkResult(
        tool="GuideLLM",
        figures=figures,
        requests=requests,
        failed=counts.errored,
        seconds=run.duration,
        rate=_number(strategy.get("rate")),
        concurrency=_number(strategy.get("streams")),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

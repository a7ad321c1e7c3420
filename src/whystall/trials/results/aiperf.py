"""AIPerf's ``profile_export_aiperf.json``: a block of statistics for each metric, each with its own unit."""

from __future__ import annotations

import msgspec

from whystall.errors import InputError
from whystall.model.trial import Metric

from .result import BenchmarkResult

_SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Statistics(msgspec.Struct, frozen=True):
    """``avg`` is the value of a metric that has no distribution."""

    unit: str = ""
    avg: float | None = None
    p50: float | None = None
    p95: float | None = None


_NOTHING = Statistics()


class AiPerf(msgspec.Struct, frozen=True):
    """The metrics that are read."""

    request_throughput: Statistics
    time_to_first_token: Statistics = _NOTHING
    inter_token_latency: Statistics = _NOTHING
    request_latency: Statistics = _NOTHING
    output_token_throughput: Statistics = _NOTHING
    output_sequence_length: Statistics = _NOTHING
    request_count: Statistics = _NOTHING
    error_request_count: Statistics = _NOTHING
    benchmark_duration: Statistics = _NOTHING
    goodput: Statistics = _NOTHING

    def result(self) -> BenchmarkResult:
        """The run in our terms. Raises InputError for a unit that is no time."""
        figures: dict[Metric, float] = {}
        for name, found in (
            ("ttft", self.time_to_first_token),
            ("itl", self.inter_token_latency),
            ("e2e", self.request_latency),
        ):
            for part, value in (("mean", found.avg), ("p50", found.p50), ("p95", found.p95)):
                if value is not None and (name, part) != ("e2e", "p50"):
                    figures |= {f"{name}_{part}": value * _scale(found.unit)}  # type: ignore[dict-item]
        rest: tuple[tuple[Metric, Statistics], ...] = (
            ("tokens_per_s", self.output_token_throughput),
            ("output_tokens", self.output_sequence_length),
            ("goodput", self.goodput),
        )
        figures |= {metric: found.avg for metric, found in rest if found.avg is not None}
        good, failed = int(self.request_count.avg or 0), int(self.error_request_count.avg or 0)
        figures["errors"] = failed / max(good + failed, 1)
        return BenchmarkResult(
            tool="AIPerf",
            figures=figures,
            requests=good + failed,
            failed=failed,
            seconds=(self.benchmark_duration.avg or 0.0) * _scale(self.benchmark_duration.unit or "s"),
        )


def _scale(unit: str) -> float:
    if unit not in _SECONDS:
        raise InputError(f"AIPerf gives a time in {unit!r}", f"Known are {', '.join(_SECONDS)}.")
    return _SECONDS[unit]

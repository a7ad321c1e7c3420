"""What is measured of a block, which way is better, and by how much it may get worse: one table.

Margins are method.md section 3's: 5% for means and medians, 10% for tails, 3% for throughput, 0.1 points of errors,
2 points of SLO attainment. Output lengths have no better side: 5% either way means that the answers are others.
"""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from whystall.model.text import Text
from whystall.model.trial import Metric, Scale


class Measure(msgspec.Struct, frozen=True):
    """A metric: its unit, the scale of its effect, the better side, the least effect worth having, and its margin."""

    unit: str
    scale: Scale
    better: Literal["lower", "higher", "neither"]
    least_effect: float
    margin: float
    label: Text


def _latency(margin: float, en: str, zh: str) -> Measure:
    return Measure("s", "relative", "lower", 0.05, margin, Text(en, zh))


METRICS: dict[Metric, Measure] = {
    "ttft_mean": _latency(0.05, "mean TTFT", "平均 TTFT"),
    "ttft_p50": _latency(0.05, "median TTFT", "TTFT 中位数"),
    "ttft_p95": _latency(0.10, "TTFT p95", "TTFT p95"),
    "itl_mean": _latency(0.05, "mean ITL", "平均 ITL"),
    "itl_p50": _latency(0.05, "median ITL", "ITL 中位数"),
    "itl_p95": _latency(0.10, "ITL p95", "ITL p95"),
    "e2e_mean": _latency(0.05, "mean E2E", "平均 E2E"),
    "e2e_p95": _latency(0.10, "E2E p95", "E2E p95"),
    "tokens_per_s": Measure("tokens/s", "relative", "higher", 0.03, 0.03, Text("throughput", "吞吐量")),
    "goodput": Measure("requests/s", "relative", "higher", 0.03, 0.03, Text("goodput", "有效吞吐")),
    "slo_attainment": Measure("ratio", "points", "higher", 0.02, 0.02, Text("SLO attainment", "SLO 达成率")),
    "errors": Measure("ratio", "points", "lower", 0.001, 0.001, Text("errors", "错误率")),
    "output_tokens": Measure("tokens", "relative", "neither", 0.05, 0.05, Text("output length", "输出长度")),
}
# Means beside their quantiles would only be counted twice; goodput says what attainment says.
GUARDED: tuple[Metric, ...] = (
    "ttft_p50",
    "ttft_p95",
    "itl_p50",
    "itl_p95",
    "e2e_p95",
    "tokens_per_s",
    "slo_attainment",
    "errors",
    "output_tokens",
)


def change(entry: Measure, a: float | None, b: float | None) -> float | None:
    """B against A on the scale that is averaged: log(b / a), or b - a of shares. None where there is none."""
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)):
        return None
    if entry.scale == "points":
        return b - a
    return math.log(b / a) if a > 0 and b > 0 else None


def shown(entry: Measure, value: float) -> float | None:
    """A change as people read it: -0.2 is a fifth less. None where it is not bounded."""
    if not math.isfinite(value):
        return None
    return value if entry.scale == "points" else math.expm1(min(value, 700.0))


def least_gain(entry: Measure, effect: float) -> float:
    """``effect`` (0.05: 5% better) as a gain over 0 on the scale that is averaged."""
    if entry.scale == "points":
        return effect
    return -math.log1p(-effect) if entry.better == "lower" else math.log1p(effect)


def worse_by(entry: Measure, margin: float) -> float:
    """``margin`` (0.05: 5% worse) as a harm over 0 on the scale that is averaged."""
    if entry.scale == "points":
        return margin
    return -math.log1p(-margin) if entry.better == "higher" else math.log1p(margin)

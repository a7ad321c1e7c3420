"""What a change would do to a server, before it is made. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .text import Text

Metric = Literal[
    "ttft_mean",
    "ttft_p95",
    "itl_mean",
    "itl_p95",
    "e2e_p95",
    "tokens_per_s",
    "goodput",
    "kv_headroom",
    "preemptions",
]
MetricUnit = Literal["s", "tok/s", "req/s", "ratio", "1/s"]
Advice = Literal["recommend", "canary", "no"]
ProfileOrigin = Literal["fitted", "shipped", "data sheet"]

# Whose smaller value is the better one; of the others the larger one is.
LOWER_IS_BETTER: tuple[Metric, ...] = ("ttft_mean", "ttft_p95", "itl_mean", "itl_p95", "e2e_p95", "preemptions")

METRIC_NAMES: dict[Metric, Text] = {
    "ttft_mean": Text("TTFT mean", "TTFT 均值"),
    "ttft_p95": Text("TTFT p95", "TTFT p95"),
    "itl_mean": Text("ITL mean", "ITL 均值"),
    "itl_p95": Text("ITL p95", "ITL p95"),
    "e2e_p95": Text("end to end p95", "端到端 p95"),
    "tokens_per_s": Text("output tokens", "输出 token"),
    "goodput": Text("goodput", "有效吞吐"),
    "kv_headroom": Text("KV free at the peak", "KV 峰值余量"),
    "preemptions": Text("preemptions", "抢占"),
}


class Range(msgspec.Struct, frozen=True):
    """A predicted relative change: -0.5 is half as much."""

    low: float
    mid: float
    high: float


class Interval(msgspec.Struct, frozen=True):
    """A predicted value in its unit: median and 90% interval."""

    low: float
    mid: float
    high: float


class PredictedMetric(msgspec.Struct, frozen=True):
    """One metric: what it is ``now`` (measured; None where it was not seen), and what it would be.

    ``relative`` is None where a relative change means nothing: from zero, or of a metric that was not seen.
    ``kv_headroom`` is the share of KV blocks that stays free at the peak; its change is best read in absolute terms.
    """

    id: Metric
    unit: MetricUnit
    now: float | None
    predicted: Interval
    relative: Range | None = None

    @property
    def lower_is_better(self) -> bool:
        return self.id in LOWER_IS_BETTER


class ProfileUsed(msgspec.Struct, frozen=True):
    """The model of a step's time that was used: ``error_ratio`` is its relative error as far as it is known.

    ``reproduced`` says how far the emulated window is from the measured one, by metric: 0.1 is 10% too much.
    """

    name: str
    origin: ProfileOrigin
    error_ratio: float
    text: Text
    reproduced: dict[str, float] = {}


class BindsNext(msgspec.Struct, frozen=True):
    """The limit that binds after the change, by the id of its cause (``kv_capacity``); "" where none does."""

    id: str
    text: Text


class Prediction(msgspec.Struct, frozen=True):
    """What one change would do under the load of the window that was looked at.

    ``change`` maps flags to values as :class:`~whystall.model.diagnosis.Remedy` has them; ``assume`` holds what is no
    flag: ``replicas``, ``clients``, ``rate``, ``host_cores``. ``p_meets`` is the probability that something which a
    user feels improves by the minimum effect, ``p_harm`` that some guard worsens by more than its margin. ``because``
    says why the advice is what it is. ``start`` and ``seconds``: the window, unix time.
    """

    change: dict[str, str]
    metrics: tuple[PredictedMetric, ...]
    p_meets: float
    p_harm: float
    advice: Advice
    because: Text
    binds_next: BindsNext
    profile: ProfileUsed
    draws: int
    assume: dict[str, str] = {}
    warnings: tuple[Text, ...] = ()
    harmed: tuple[Metric, ...] = ()  # the guards that worsen in more than one draw in twenty
    start: float = 0.0
    seconds: float = 0.0

    def metric(self, name: str) -> PredictedMetric | None:
        """The predicted metric called ``name``; None where nothing could be said of it."""
        return next((metric for metric in self.metrics if metric.id == name), None)

    def effect(self) -> dict[str, Range]:
        """The relative changes, as a remedy's ``effect`` holds them."""
        return {metric.id: metric.relative for metric in self.metrics if metric.relative is not None}


class NotPredicted(msgspec.Struct, frozen=True):
    """A change that the emulator cannot express, or that is not known well enough: why."""

    change: dict[str, str]
    because: Text
    assume: dict[str, str] = {}


class WhatIf(msgspec.Struct, frozen=True):
    """The answer of ``whystall whatif``: what was asked, change by change, in the order asked."""

    target: str
    engine: str  # the engine's label, "" where there is one
    version: str
    predictions: tuple[Prediction, ...]
    not_predicted: tuple[NotPredicted, ...] = ()
    headline: Text = msgspec.field(default_factory=lambda: Text(""))
    schema: Literal["whystall.whatif/1"] = "whystall.whatif/1"

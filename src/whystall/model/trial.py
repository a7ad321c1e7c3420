"""What an A/B run showed: B against A, in interleaved blocks. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .diagnosis import Notice
from .text import Text

SCHEMA: Literal["whystall.trial/1"] = "whystall.trial/1"
TrialVerdict = Literal["WIN", "HARM", "FUTILE", "INCONCLUSIVE"]
GuardVerdict = Literal["holds", "harmed", "open", "outweighed"]
ArmName = Literal["a", "b"]
Scale = Literal["relative", "points"]
Design = Literal["interleaved", "restarts", "single"]
Metric = Literal[
    "ttft_mean",
    "ttft_p50",
    "ttft_p95",
    "itl_mean",
    "itl_p50",
    "itl_p95",
    "e2e_mean",
    "e2e_p95",
    "tokens_per_s",
    "goodput",
    "slo_attainment",
    "errors",
    "output_tokens",
]


class TrialArm(msgspec.Struct, frozen=True):
    """One of the two sides: its address or a description, and the flags by which it differs where that is known."""

    target: str
    change: dict[str, str] = {}


class Effect(msgspec.Struct, frozen=True):
    """What B did to a metric. On the scale ``relative`` -0.2 is a fifth less than A; on ``points`` it is B minus A.

    ``low`` to ``high`` is an always-valid interval of the trial's confidence; None where there are too few pairs for
    one. ``a`` and ``b`` are what each arm itself had, in ``unit``: the geometric mean of its blocks, of a share their mean.
    """

    metric: Metric
    unit: str
    scale: Scale
    better: Literal["lower", "higher", "neither"]
    low: float | None
    mid: float | None
    high: float | None
    pairs: int
    a: float | None = None
    b: float | None = None


class Guard(msgspec.Struct, frozen=True):
    """A metric that must not get worse by ``margin`` (on its effect's scale).

    ``harm_low`` to ``harm_high`` is the interval of how much worse it got, over 0 is worse. ``holds``: the whole
    interval is below the margin, so no regression is shown; ``harmed``: all of it is over half the margin;
    ``open``: neither is shown, which is no proof that nothing happened; ``outweighed``: tokens are, or may be, further
    apart, and every token of an answer still comes sooner, since whole requests are shown to. Values below ``floor`` are
    not told apart: nobody feels them, or the SLO allows them.
    """

    metric: Metric
    margin: float
    verdict: GuardVerdict
    scale: Scale = "relative"
    harm_low: float | None = None
    harm_mid: float | None = None
    harm_high: float | None = None
    pairs: int = 0
    floor: float | None = None


class Block(msgspec.Struct, frozen=True):
    """One arm's turn: what was sent to it, and what its requests saw, over ``seconds`` of the target's time.

    ``error`` names what most of the failed requests met.
    """

    pair: int
    arm: ArmName
    started: float
    seconds: float
    requests: int
    failed: int
    figures: dict[Metric, float | None]
    error: str = ""


class WarmUp(msgspec.Struct, frozen=True):
    """What was thrown away before an arm's first block. ``settled``: it was seen to have warmed up in that time."""

    arm: ArmName
    seconds: float
    requests: int
    settled: bool


class TokenAgreement(msgspec.Struct, frozen=True):
    """How many of ``prompts`` got the same greedy answer of ``tokens`` from both arms.

    ``leading_ratio`` is the mean share of an answer up to the first difference, ``baseline_ratio`` the same of A asked
    twice: what other batches alone do.
    """

    prompts: int
    identical: int
    leading_ratio: float
    tokens: int
    baseline_ratio: float = 1.0


class Trial(msgspec.Struct, frozen=True):
    """B against A: the verdict on ``primary``, every metric's effect, the guards, and what may be wrong with the load.

    WIN: the interval of ``primary`` excludes no change and the measured change is at least ``minimum_effect``.
    HARM: a guard was harmed, or ``primary`` got worse. FUTILE: the interval lies within the minimum effect, or a win
    had become unlikely. INCONCLUSIVE: the time was up first. ``alpha`` is the chance of a wrong interval, at any
    moment that one looks. ``started`` and ``ended`` are unix seconds of the target's clock.
    """

    a: TrialArm
    b: TrialArm
    verdict: TrialVerdict
    because: Text
    primary: Metric
    minimum_effect: float
    effects: tuple[Effect, ...]
    guards: tuple[Guard, ...] = ()
    blocks: tuple[Block, ...] = ()
    pairs: int = 0
    seconds: float = 0.0
    block_seconds: float = 0.0
    started: float = 0.0
    ended: float = 0.0
    alpha: float = 0.05
    design: Design = "interleaved"
    load: str = ""
    warm_up: tuple[WarmUp, ...] = ()
    findings: tuple[Notice, ...] = ()
    token_agreement: TokenAgreement | None = None
    schema: Literal["whystall.trial/1"] = SCHEMA

    def effect(self, metric: Metric) -> Effect | None:
        """The effect on ``metric``; None where it was not measured."""
        return next((effect for effect in self.effects if effect.metric == metric), None)

    @property
    def won(self) -> bool:
        """Whether B may be kept for what it was tried for: a WIN, which no guard can be against."""
        return self.verdict == "WIN"

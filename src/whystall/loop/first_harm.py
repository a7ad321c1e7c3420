"""Harm that is too plain to wait for a sequence of pairs: one block of the change is enough to go back."""

from __future__ import annotations

import math
from collections.abc import Callable

from whystall.model.prediction import Prediction
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.model.trial import Block, Metric
from whystall.trials.metrics import METRICS
from whystall.trials.price import PAUSE_S
from whystall.trials.rules import FELT, more_failures

# A block beside another of the same server differs by a few percent under the same requests and by up to a fifth under
# the users' own (method.md section 3, sd of the log ratio .02 to .11); half as much again is no noise.
PLAIN = math.log(1.5)
_DIFFER = math.log(1.2)
_ERRORS = 0.02  # more of all requests fail: method.md's one point, in a single block of some fifty requests
_SIGMAS = 3.0  # beyond what chance does to the rate of before: a trial has many blocks to be unlucky in
_WATCHED: tuple[Metric, ...] = ("e2e_mean", "ttft_mean", "itl_mean", "tokens_per_s")
# Below these nobody feels it (DESIGN.md section 2).
FLOORS: dict[Metric, float] = {"e2e_mean": 0.5, "ttft_mean": FELT["ttft_p50"], "itl_mean": FELT["itl_p50"]}
_WORSE = Text(
    "{metric} is {by:.0%} worse in one block, {a:.3g} to {b:.3g} {unit}",
    "{metric}在一个区块内变差 {by:.0%}：{a:.3g} → {b:.3g} {unit}",
)
_FAILING = Text(
    "{b:.1%} of a block's requests fail{why}, {a:.1%} before", "区块内 {b:.1%} 的请求失败{why}，此前 {a:.1%}"
)
Stop = Callable[[Block, Block], Text | None]


def floors_of_means(slo: Slo | None) -> dict[Metric, float]:
    """Below which a mean is not felt, or is as promised: half of a promised p95, which a mean below it hardly breaks."""
    promised: dict[Metric, float | None] = {
        "e2e_mean": slo.e2e_p95_s if slo else None,
        "ttft_mean": slo.ttft_p95_s if slo else None,
        "itl_mean": slo.itl_p95_s if slo else None,
    }
    return FLOORS | {metric: bound / 2 for metric, bound in promised.items() if bound is not None}


def first_harm(prediction: Prediction | None, slo: Slo | None = None) -> Stop:
    """Judges a block of the change against the last one before it: the harm in words, None where there is none.

    What was predicted to get worse (ITL where a queue goes away) may do so as far as it was predicted.
    """
    floors = floors_of_means(slo)

    def stop(before: Block, after: Block) -> Text | None:
        failed = [block.failed / max(block.requests, 1) for block in (before, after)]
        if more_failures(before, after, sigmas=_SIGMAS) > _ERRORS:
            return _FAILING.format(a=failed[0], b=failed[1], why=f" ({after.error})" if after.error else "")
        watched = (metric for metric in _WATCHED if metric != "itl_mean" or not _outweighed(before, after, slo))
        found = (_worse(metric, before, after, prediction, floors.get(metric, 0.0)) for metric in watched)
        return next((text for text in found if text), None)

    return stop


def _outweighed(before: Block, after: Block, slo: Slo | None) -> bool:
    """Whether gaps between tokens are a price at most: whole requests take plainly less time, and no gap is a pause.

    What is not answered by the end of a block counts with what it had waited, so that a slow side looks quicker than it
    is: plainly more tokens a second, of the same requests, say as much.
    """
    a, b, gap = before.figures.get("e2e_mean"), after.figures.get("e2e_mean"), after.figures.get("itl_mean")
    if not a or not b or gap is None or (slo is not None and slo.itl_p95_s is not None):
        return False
    had, has = before.figures.get("tokens_per_s"), after.figures.get("tokens_per_s")
    more = math.log(has / had) if had and has else 0.0
    sooner = math.log(a / b)
    return gap < PAUSE_S and (sooner > _DIFFER or (sooner >= 0 and more > _DIFFER))


def _worse(metric: Metric, before: Block, after: Block, prediction: Prediction | None, floor: float) -> Text | None:
    a, b = before.figures.get(metric), after.figures.get(metric)
    if not a or not b:
        return None
    entry = METRICS[metric]
    lower = entry.better == "lower"
    harm = math.log(max(b, floor) / max(a, floor)) * (1 if lower else -1)
    if harm <= PLAIN + _foreseen(metric, prediction, lower=lower):
        return None
    return _WORSE.format(metric=entry.label, by=math.expm1(harm), a=a, b=b, unit=entry.unit)


def _foreseen(metric: Metric, prediction: Prediction | None, *, lower: bool) -> float:
    found = prediction.metric(metric) if prediction is not None else None
    if found is None or found.relative is None:
        return 0.0
    worst = found.relative.high if lower else found.relative.low
    return max(math.log1p(max(worst, -0.999)) * (1 if lower else -1), 0.0)

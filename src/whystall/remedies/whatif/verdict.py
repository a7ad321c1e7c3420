"""Twenty pairs of runs -> what is said: intervals, the probability of harm, the advice, what binds next."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.prediction import (
    LOWER_IS_BETTER,
    METRIC_NAMES,
    Advice,
    BindsNext,
    Interval,
    Metric,
    MetricUnit,
    PredictedMetric,
    Range,
)
from whystall.model.slo import Slo
from whystall.model.text import Text

from .model_error import spread
from .play import Figures

Floats = NDArray[np.float64]
UNITS: dict[Metric, MetricUnit] = {
    "ttft_mean": "s",
    "ttft_p95": "s",
    "itl_mean": "s",
    "itl_p95": "s",
    "e2e_p95": "s",
    "tokens_per_s": "tok/s",
    "goodput": "req/s",
    "kv_headroom": "ratio",
    "preemptions": "1/s",
}
RECOMMEND_MEETS, RECOMMEND_HARM = 0.8, 0.05  # method.md 2.4
CANARY_MEETS = 0.5  # one replica may try what is more likely to help than not, and than to harm,
CANARY_HARM = 0.5  # and harms more likely not than yes: what helps one metric for sure may harm another as surely
_PER_DRAW = 100  # values of the model's error to each pair of runs
_SEEN = 0.5  # of the draws must have a value

# The least effect that counts (method.md 3) and the harm that is still none: tails are noisier than means.
EFFECT: dict[Metric, float] = {
    "ttft_mean": 0.05,
    "ttft_p95": 0.10,
    "itl_mean": 0.05,
    "itl_p95": 0.10,
    "e2e_p95": 0.10,
    "tokens_per_s": 0.03,
    "goodput": 0.03,
}
MARGIN: dict[Metric, float] = {**EFFECT, "tokens_per_s": 0.05, "goodput": 0.05}
# Below this nobody feels it (DESIGN, SLO), so it is neither harm nor gain. End to end: a change by that much.
FELT_S: dict[Metric, float] = {"ttft_mean": 0.2, "ttft_p95": 0.2, "itl_mean": 0.025, "itl_p95": 0.025}
FELT_E2E_S = 0.2
_AT_ONCE = 0.01  # of the time with a queue: a request waits for the running step, and no longer
PAUSE_S = 0.2  # a gap between tokens that is a wait of its own (whystall.trials.price)


class Samples(msgspec.Struct, frozen=True):
    """One metric over all draws and errors: as it is, and as it would be."""

    now: Floats
    after: Floats


def off_by(now: Mapping[Metric, float], baseline: Sequence[Figures]) -> dict[Metric, float]:
    """Log of the emulated over the measured window by metric, where both were seen."""
    found: dict[Metric, float] = {}
    for metric in ("ttft_mean", "itl_mean", "tokens_per_s"):
        measured, mine = now.get(metric, math.nan), _middle(baseline, metric)
        if measured > 0 and mine > 0:
            found[metric] = math.log(mine / measured)
    return found


def _middle(figures: Sequence[Figures], metric: Metric) -> float:
    values = np.asarray([f.metrics[metric] for f in figures])
    seen = values[np.isfinite(values)]
    return float(np.median(seen)) if len(seen) else math.nan


def sampled(
    now: Mapping[Metric, float],
    baseline: Sequence[Figures],
    changed: Sequence[Figures],
    fit_error: float,
    extra: float = 0.0,
) -> dict[Metric, Samples]:
    """Each metric's values under the draws and the model's error, scaled to what the server really measured."""
    pairs = {metric: _pairs(baseline, changed, metric) for metric in UNITS}
    moves = {metric: _log_ratio(*pair) for metric, pair in pairs.items()}
    felt = [moves[m] for m in EFFECT]
    most = max((float(np.nanmedian(np.abs(m))) for m in felt if np.isfinite(m).any()), default=0.0)
    off, rng = off_by(now, baseline), np.random.default_rng(20)
    found: dict[Metric, Samples] = {}
    for metric, (before, after) in pairs.items():
        chance = rng.standard_normal((len(before), _PER_DRAW))
        if np.isfinite(before).mean() < _SEEN or np.isfinite(after).mean() < _SEEN:
            continue
        middle = float(np.nanmedian(np.clip(moves[metric], -5, 5))) if np.isfinite(moves[metric]).any() else 0.0
        deviation = math.hypot(spread(metric, middle, most, fit_error, off), extra)
        stays = rng.uniform(0, 1, (len(before), _PER_DRAW))
        found[metric] = _with_error(metric, now.get(metric, math.nan), before, after, chance * deviation, stays)
    return found


def _pairs(baseline: Sequence[Figures], changed: Sequence[Figures], metric: Metric) -> tuple[Floats, Floats]:
    pairs = [(a.metrics[metric], b.metrics[metric]) for a, b in zip(baseline, changed, strict=True)]
    table = np.asarray(pairs, dtype=np.float64)
    return table[:, 0], table[:, 1]


def _log_ratio(before: Floats, after: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(after / before)
    return np.where((before > 0) & (after > 0), found, np.nan)


def _with_error(
    metric: Metric, measured: float, before: Floats, after: Floats, error: Floats, stays: Floats
) -> Samples:
    seen = np.isfinite(before) & np.isfinite(after)
    before, after, error, stays = before[seen, None], after[seen, None], error[seen], stays[seen]
    if metric == "kv_headroom":  # a share: what is measured moves by what the runs differ by
        base = np.where(np.isfinite(measured), measured, before)
        return Samples(_flat(base, error), np.clip(base + (after - before) * np.exp(error), 0, 1).ravel())
    if not (measured > 0 and (before > 0).all()):
        return Samples(_flat(before, error), (after * np.exp(error)).ravel())
    base = np.full_like(before, measured)
    return Samples(_flat(base, error), (_moved(base, before, after, stays) * np.exp(error)).ravel())


def _moved(measured: Floats, before: Floats, after: Floats, stays: Floats) -> Floats:
    """What is measured, moved by the change. What the runs lack of it may grow and shrink with the rest, or stay as it
    is whatever is changed: nobody knows, so each draw takes a mixture."""
    scaled = measured * after / before
    shifted = measured + after - before
    usable = (shifted > 0) & (scaled > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mixed = np.exp(np.log(scaled) * (1 - stays) + np.log(np.where(usable, shifted, 1.0)) * stays)
    return np.asarray(np.where(usable, mixed, scaled))


def _flat(values: Floats, like: Floats) -> Floats:
    return np.broadcast_to(values, like.shape).ravel()


def metrics_of(now: Mapping[Metric, float], samples: Mapping[Metric, Samples]) -> tuple[PredictedMetric, ...]:
    """Median and 90% interval of each metric, absolute and relative."""
    found = []
    for metric, values in samples.items():
        low, mid, high = (float(v) for v in np.quantile(values.after, (0.05, 0.5, 0.95)))
        relative = None
        if metric != "kv_headroom" and (values.now > 0).all():
            relative = Range(*(float(v) - 1 for v in np.quantile(values.after / values.now, (0.05, 0.5, 0.95))))
        measured = now.get(metric, math.nan)
        shown = measured if math.isfinite(measured) else None
        found.append(PredictedMetric(metric, UNITS[metric], shown, Interval(low, mid, high), relative))
    return tuple(found)


def judged(
    samples: Mapping[Metric, Samples], slo: Slo | None, *, caught_up: bool = False
) -> tuple[float, float, tuple[Metric, ...]]:
    """P(something that is felt gets better by the least effect), P(some guard gets worse), and which guards may.

    ``caught_up`` (see :func:`catches_up`): fewer tokens in the window are then no harm.
    """
    meets: list[NDArray[np.bool_]] = []
    harms: dict[Metric, NDArray[np.bool_]] = {}
    count = min((len(values.now) for values in samples.values()), default=0)
    for metric, least in EFFECT.items():
        if metric in samples:
            now, after = samples[metric].now[:count], samples[metric].after[:count]
            meets.append(_better(metric, now, after, least) & _felt(metric, now, after, slo))
            harms[metric] = _better(metric, after, now, MARGIN[metric]) & _felt(metric, after, now, slo)
    if not meets:
        return 0.0, 0.0, ()
    price = _is_price(samples, count, slo)
    harms |= {metric: harms[metric] & ~price for metric in ("itl_mean", "itl_p95") if metric in harms}
    if caught_up:
        harms = {metric: harm for metric, harm in harms.items() if metric not in ("tokens_per_s", "goodput")}
    bad = tuple(metric for metric, harm in harms.items() if harm.mean() > RECOMMEND_HARM)
    return float(np.any(meets, axis=0).mean()), float(np.any(list(harms.values()), axis=0).mean()), bad


def catches_up(baseline: Sequence[Figures], changed: Sequence[Figures], replicas: int) -> bool:
    """Whether all that comes is served at once, with fewer inside than as it is, and no more of it is refused.

    Then fewer tokens come in the window because those of the backlog came before it.
    """
    now = [float(np.median([getattr(f, name) for f in baseline])) for name in ("running_peak", "rejected_per_s")]
    after = [float(np.median([getattr(f, name) for f in changed])) for name in ("running_peak", "rejected_per_s")]
    at_once = float(np.median([f.queued for f in changed])) < _AT_ONCE
    return at_once and replicas * after[0] < now[0] and after[1] <= now[1]


def _is_price(samples: Mapping[Metric, Samples], count: int, slo: Slo | None) -> NDArray[np.bool_]:
    """Where tokens that come slower are outweighed, as a trial has it: whole requests end sooner by what counts, so each
    token comes sooner, no gap is a wait of its own, and none was promised to be shorter."""
    if (slo is not None and slo.itl_p95_s is not None) or not {"e2e_p95", "itl_p95"} <= samples.keys():
        return np.zeros(count, dtype=bool)
    e2e, gap = samples["e2e_p95"], samples["itl_p95"].after[:count]
    return _better("e2e_p95", e2e.now[:count], e2e.after[:count], EFFECT["e2e_p95"]) & (gap < PAUSE_S)


def _better(metric: Metric, now: Floats, after: Floats, by: float) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        return np.asarray(after < now * (1 - by) if metric in LOWER_IS_BETTER else after > now * (1 + by))


def _felt(metric: Metric, worse: Floats, better: Floats, slo: Slo | None) -> NDArray[np.bool_]:
    """Whether somebody feels the worse of two values."""
    bound = getattr(slo, f"{metric}_s", None) if slo else None
    if bound is not None:
        return np.asarray(worse > bound)
    if metric == "e2e_p95":
        return np.asarray(worse > better + FELT_E2E_S)
    level = FELT_S.get(metric)
    return np.asarray(worse > (level if level is not None else -np.inf))


def advice(p_meets: float, p_harm: float) -> Advice:
    """The rule of method.md 2.4; a canary where it is more likely to help than not and than to harm, and not to harm."""
    if p_meets >= RECOMMEND_MEETS and p_harm <= RECOMMEND_HARM:
        return "recommend"
    return "canary" if p_meets >= CANARY_MEETS and p_harm < min(CANARY_HARM, p_meets) else "no"


_GOOD = Text(
    "it helps with probability {meets}, and harms with {harm}",
    "有 {meets} 的概率见效，{harm} 的概率有害",
)
_HARMS = Text("{a}: {names} may get worse", "{a}：{names} 可能变差")
_NOTHING = Text(
    "it helps with probability {meets} only: nothing that is felt changes enough",
    "见效概率仅 {meets}：用户能感到的指标变化不足",
)


def reason(p_meets: float, p_harm: float, harmed: Sequence[Metric]) -> Text:
    """Why the advice is what it is."""
    if p_meets < CANARY_MEETS and p_harm <= RECOMMEND_HARM:
        return _NOTHING.format(meets=_chance(p_meets))
    text = _GOOD.format(meets=_chance(p_meets), harm=_chance(p_harm))
    if not harmed:
        return text
    said = [METRIC_NAMES[metric] for metric in harmed]
    names = Text(", ".join(name.en for name in said), "、".join(name.zh for name in said))
    return _HARMS.format(a=text, names=names)


def _chance(share: float) -> str:
    """A share of the drawn pairs; all or none of twenty is no certainty."""
    return ">99%" if share > 0.99 else "<1%" if share < 0.01 else f"{share:.0%}"


# -- what binds next

_BINDS: dict[str, Text] = {
    "queue_limit": Text(
        "the queue's limit: {rejected:.2g} requests a second are refused", "队列上限：每秒拒绝 {rejected:.2g} 个请求"
    ),
    "kv_capacity": Text("KV blocks: {kv:.0%} in use at the peak", "KV 块：峰值使用 {kv:.0%}"),
    "seat_cap": Text("seats: all taken for {seats:.0%} of the time", "席位：{seats:.0%} 的时间全被占用"),
    "token_budget": Text("the token budget of a step", "单步 token 预算"),
    "prefill_bound": Text("prefill: prompts come faster than they are computed", "预填充：提示词到达快于计算"),
    "": Text("nothing: a queue forms for {queued:.0%} of the time", "无：仅 {queued:.0%} 的时间有排队"),
}
_OFTEN = 0.2  # of the time somebody waits: less is a crest of the load


def binds_next(changed: Sequence[Figures], budget: int, knee: float) -> BindsNext:
    """The limit that binds in most of the changed runs; ``knee``: tokens from which a step's time grows with them."""
    names = Counter(_binding(figures, budget, knee) for figures in changed)
    id = names.most_common(1)[0][0]
    like = [f for f in changed if _binding(f, budget, knee) == id]

    def middle(name: str) -> float:
        return float(np.median([getattr(f, name) for f in like]))

    return BindsNext(
        id,
        _BINDS[id].format(
            rejected=middle("rejected_per_s"), kv=middle("kv_peak"), seats=middle("seats_full"), queued=middle("queued")
        ),
    )


def _binding(figures: Figures, budget: int, knee: float) -> str:
    if figures.rejected_per_s > 0:
        return "queue_limit"
    if figures.metrics["preemptions"] > 0 or (figures.kv_short > _OFTEN and figures.kv_peak > 0.9):
        return "kv_capacity"
    if figures.seats_full > _OFTEN:
        return "seat_cap"
    if figures.kv_short > _OFTEN:
        return "kv_capacity"
    if figures.queued > _OFTEN:
        return "token_budget" if budget < knee else "prefill_bound"
    return ""

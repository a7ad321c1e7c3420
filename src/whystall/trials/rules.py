"""When an A/B run may stop, and with which verdict: arithmetic on pairs of blocks, nothing else.

Every bound is of a confidence sequence, so looking after each pair costs nothing. A guard holds when its whole
interval of harm is below the margin: that nothing was shown is no proof that nothing happened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Literal

import msgspec

from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.model.trial import Block, Effect, Guard, GuardVerdict, Metric, TrialVerdict

from .metrics import GUARDED, METRICS, Measure, change, least_gain, shown, worse_by
from .price import may_have_price, price_of, seems_sooner, sooner
from .sequential import Interval, confidence_sequence, probability_of_gain

# What a user can feel, as DESIGN.md section 2 has it: without this every batch that grows because a queue went away,
# and so gets slower by a millisecond a token, would be a harm.
FELT: dict[Metric, float] = {"ttft_p50": 0.2, "ttft_p95": 0.2, "itl_p50": 0.025, "itl_p95": 0.025}


def floors_of(slo: Slo) -> dict[Metric, float]:
    """Where an SLO promises a bound, whatever is below it is as promised; where it does not, what nobody feels."""
    return FELT | _bounds_of(slo)


def promised_by(slo: Slo | None) -> tuple[Metric, ...]:
    """The guards that an SLO has a bound for: to break it is harm, whatever it bought."""
    return tuple(_bounds_of(slo)) if slo is not None else ()


def _bounds_of(slo: Slo) -> dict[Metric, float]:
    promised: dict[Metric, float | None] = {
        "ttft_p50": slo.ttft_p95_s,
        "ttft_p95": slo.ttft_p95_s,
        "itl_p50": slo.itl_p95_s,
        "itl_p95": slo.itl_p95_s,
        "e2e_p95": slo.e2e_p95_s,
    }
    return {metric: bound for metric, bound in promised.items() if bound is not None}


Goal = Literal["improve", "no-regression"]
Pair = tuple[Block, Block]
LEAST_PAIRS, LEAST_RESTART_PAIRS = 5, 3
_WHOLE: tuple[Metric, ...] = ("e2e_mean", "e2e_p95")
_RESTART_FACTOR = 2.0  # a restart adds what no block repeats (memory layout, autotuning): ask for twice the effect
_HOPELESS = 0.1  # chance of a win at the end below which the time is better spent otherwise
_ERRORS_AT_ONCE = 0.01  # a point more errors in two blocks running ends the trial whatever the sequence says
_BROKEN = 0.5  # so many points more in one block, and there is nothing left to measure
_RULE_OF_THREE = 3.0  # n requests without an error bound its rate by 3/n at 95%


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be shown, and how surely.

    ``minimum_effect`` None: the metric's own (5% of a latency, 3% of throughput, 2 points of attainment).
    ``demand_guards``: a WIN waits until every guard holds; without it, until none is harmed.
    ``floors``: guards' values below it are not told apart: nobody feels them, or the SLO allows them (see
    :func:`floors_of`). ``guarded``: the metrics that must not get worse. ``floors`` None takes what nobody feels for
    ``improve``, and no floor for ``no-regression``. ``promised``: guards that nothing outweighs (see
    :func:`promised_by` and :mod:`~whystall.trials.price`); for ``no-regression`` nothing outweighs any.
    """

    primary: Metric = "e2e_mean"
    goal: Goal = "improve"
    minimum_effect: float | None = None
    alpha: float = 0.05
    restarts: bool = False
    demand_guards: bool = True
    floors: dict[Metric, float] | None = None
    guarded: tuple[Metric, ...] = GUARDED
    promised: tuple[Metric, ...] = ()

    def floor(self, metric: Metric) -> float | None:
        """Below which a guard's values are the same."""
        if self.floors is None:
            return FELT.get(metric) if self.goal == "improve" else None
        return self.floors.get(metric)

    @property
    def least_pairs(self) -> int:
        return LEAST_RESTART_PAIRS if self.restarts else LEAST_PAIRS

    @property
    def effect(self) -> float:
        """The least effect that counts as a win, on the primary metric's scale."""
        own = METRICS[self.primary].least_effect
        asked = own if self.minimum_effect is None else self.minimum_effect
        return asked * (_RESTART_FACTOR if self.restarts and self.minimum_effect is None else 1.0)


class Judgement(msgspec.Struct, frozen=True):
    """What the pairs say so far. ``verdict`` None: go on. ``because`` gives the reason, or what is still open."""

    verdict: TrialVerdict | None
    because: Text
    effects: tuple[Effect, ...]
    guards: tuple[Guard, ...]


def judge(pairs: Sequence[Pair], rules: Rules, *, total: int | None = None) -> Judgement:
    """Look at the pairs of blocks so far. ``total``: pairs that the time budget has room for, None where unlimited.

    HARM comes before WIN, so that a gain never hides what it costs.
    """
    effects = tuple(effect for metric in METRICS if (effect := _effect(pairs, metric, rules)) is not None)
    found_guards = (guard for metric in rules.guarded if (guard := _guard(pairs, metric, rules)) is not None)
    guards = tuple(_weighed(guard, pairs, rules) for guard in found_guards)
    found = _harm(pairs, guards, rules) or _gain(pairs, guards, effects, rules) or _futile(pairs, guards, rules, total)
    verdict, because = found or (None, _open(pairs, guards, rules))
    return Judgement(verdict, because, effects, guards)


# -- intervals


def _values(pairs: Sequence[Pair], metric: Metric, floor: float | None = None) -> list[float]:
    entry = METRICS[metric]
    changes = (change(entry, *(_raised(block.figures.get(metric), floor) for block in pair)) for pair in pairs)
    return [value for value in changes if value is not None]


def _raised(value: float | None, floor: float | None) -> float | None:
    return value if value is None or floor is None else max(value, floor)


def _effect(pairs: Sequence[Pair], metric: Metric, rules: Rules) -> Effect | None:
    values, entry = _values(pairs, metric), METRICS[metric]
    if not values:
        return None
    found = confidence_sequence(values, rules.alpha, rules.least_pairs)
    low, mid, high = (shown(entry, value) for value in found[:3])
    a, b = (_own(pairs, metric, side) for side in (0, 1))
    return Effect(metric, entry.unit, entry.scale, entry.better, low, mid, high, found.n, a, b)


def _own(pairs: Sequence[Pair], metric: Metric, side: int) -> float | None:
    """The mean on the scale of the changes, so that the two are as far apart as the change beside them says."""
    entry = METRICS[metric]
    both = [(a.figures.get(metric), b.figures.get(metric)) for a, b in pairs]
    seen = [pair[side] for pair in both if change(entry, *pair) is not None]
    values = [value for value in seen if value is not None]
    if not values:
        return None
    return fmean(values) if entry.scale == "points" else math.exp(fmean(map(math.log, values)))


def gains(pairs: Sequence[Pair], metric: Metric) -> list[float]:
    """Changes of ``metric`` in the direction that is better, on the scale that is averaged."""
    sign = -1 if METRICS[metric].better == "lower" else 1
    return [sign * value for value in _values(pairs, metric)]


def _primary(pairs: Sequence[Pair], rules: Rules) -> Interval:
    return confidence_sequence(gains(pairs, rules.primary), rules.alpha, rules.least_pairs)


def _guard(pairs: Sequence[Pair], metric: Metric, rules: Rules) -> Guard | None:
    """A guard is one-sided: its bounds are those of an interval at twice the level.

    All guards must hold, so each does at the trial's level; any of them that is harmed ends the trial, so that they share
    the level for that (Bonferroni): six guards at 5% each would take a change that does nothing for harm too often.
    """
    floor, entry = rules.floor(metric), METRICS[metric]
    values = _values(pairs, metric, floor)
    if not values:
        return None
    margin = max(entry.margin, _RULE_OF_THREE / max(_requests(pairs), 1)) if metric == "errors" else entry.margin
    seen = confidence_sequence(values, 2 * rules.alpha, rules.least_pairs)
    surely = confidence_sequence(values, 2 * rules.alpha / max(len(rules.guarded), 1), rules.least_pairs)
    harm, limit = _harm_of(entry, seen), worse_by(entry, margin)
    harmed = _harm_of(entry, surely).low > limit / 2
    verdict: GuardVerdict = "harmed" if harmed else "holds" if harm.high < limit else "open"
    low, mid, high = (shown(entry, value) for value in harm[:3])
    return Guard(metric, margin, verdict, entry.scale, low, mid, high, harm.n, floor)


def _harm_of(entry: Measure, seen: Interval) -> Interval:
    return _either_way(seen) if entry.better == "neither" else -seen if entry.better == "higher" else seen


def _weighed(guard: Guard, pairs: Sequence[Pair], rules: Rules) -> Guard:
    """A guard that is not shown to hold, with what it bought in the other scale.

    As long as that seems to outweigh it and is not shown, the guard is open: to end there would take every cure of a
    queue back whose second proof takes a pair more.
    """
    if guard.verdict == "holds" or rules.goal != "improve":
        return guard
    if not may_have_price(guard.metric, _own(pairs, guard.metric, 1), rules.promised):
        return guard
    e2e = [confidence_sequence(gains(pairs, m), rules.alpha, rules.least_pairs) for m in _WHOLE]
    verdict: GuardVerdict = "outweighed" if sooner(e2e) else "open" if seems_sooner(e2e) else guard.verdict
    return msgspec.structs.replace(guard, verdict=verdict)


def _either_way(seen: Interval) -> Interval:
    """How far from no change, whichever way."""
    inside = seen.low <= 0 <= seen.high
    low = 0.0 if inside else min(abs(seen.low), abs(seen.high))
    return Interval(low, abs(seen.mid), max(abs(seen.low), abs(seen.high)), seen.n)


def _requests(pairs: Sequence[Pair]) -> int:
    return sum(b.requests for _, b in pairs)


# -- verdicts

_Found = tuple[TrialVerdict, Text] | None


def _harm(pairs: Sequence[Pair], guards: Sequence[Guard], rules: Rules) -> _Found:
    if _failing(pairs):
        text = Text(
            "requests to B fail: {b:.1%} of its last block, {a:.1%} of A's",
            "发往 B 的请求失败：其最近区块 {b:.1%}，A 为 {a:.1%}",
        )
        a, b = (block.failed / max(block.requests, 1) for block in pairs[-1])
        return "HARM", text.format(a=a, b=b)
    for guard in guards:
        if guard.verdict == "harmed":
            label = METRICS[guard.metric].label
            text = Text("{label} got worse by {harm}", "{label}变差 {harm}")
            return "HARM", text.format(label=label, harm=bounds(guard.harm_low, guard.harm_high, guard.scale))
    lost = -_primary(pairs, rules)
    if rules.primary not in rules.guarded and lost.low > least_gain(METRICS[rules.primary], rules.effect) / 2:
        return "HARM", Text("{label} got worse", "{label}变差").format(label=METRICS[rules.primary].label)
    return None


def _failing(pairs: Sequence[Pair]) -> bool:
    last = [more_failures(a, b, sigmas=2.0) for a, b in pairs[-2:]]
    return bool(last) and (last[-1] >= _BROKEN or (len(last) == 2 and min(last) >= _ERRORS_AT_ONCE))


def more_failures(a: Block, b: Block, *, sigmas: float) -> float:
    """By how much more of B's requests fail than of A's, less what chance alone may do to a rate that A has too.

    A server that refuses a third of its requests refuses some points more or fewer in each block; one that refuses none
    refuses none.
    """
    had, has = (block.failed / max(block.requests, 1) for block in (a, b))
    variance = had * (1 - had) * (1 / max(a.requests, 1) + 1 / max(b.requests, 1))
    return has - had - sigmas * math.sqrt(variance)


def _won(pairs: Sequence[Pair], rules: Rules) -> bool:
    found, needed = _primary(pairs, rules), least_gain(METRICS[rules.primary], rules.effect)
    return found.low > 0 and found.mid >= needed


def unproven(guards: Sequence[Guard], rules: Rules) -> list[Guard]:
    """Guards that are not shown to hold; of a metric that won there is nothing to show."""
    return [guard for guard in guards if guard.verdict in ("harmed", "open") and guard.metric != rules.primary]


def _gain(pairs: Sequence[Pair], guards: Sequence[Guard], effects: Sequence[Effect], rules: Rules) -> _Found:
    if not _won(pairs, rules) or (rules.demand_guards and unproven(guards, rules)):
        return None
    measured, price = _measured(pairs, rules), price_of(effects)
    return "WIN", Text("{a}{b}", "{a}{b}").format(a=measured, b=price) if price is not None else measured


def _measured(pairs: Sequence[Pair], rules: Rules) -> Text:
    entry = METRICS[rules.primary]
    found = confidence_sequence(_values(pairs, rules.primary), rules.alpha, rules.least_pairs)
    text = Text("{label} changed by {change} ({pairs} pairs)", "{label}变化 {change}（{pairs} 对区块）")
    low, high = shown(entry, found.low), shown(entry, found.high)
    return text.format(label=entry.label, change=bounds(low, high, entry.scale), pairs=found.n)


def _futile(pairs: Sequence[Pair], guards: Sequence[Guard], rules: Rules, total: int | None) -> _Found:
    if rules.goal == "no-regression":
        proven = len(pairs) >= rules.least_pairs and guards and all(guard.verdict == "holds" for guard in guards)
        return ("FUTILE", Text("no guard got worse by its margin", "所有护栏指标均未超出容限")) if proven else None
    values, needed = gains(pairs, rules.primary), least_gain(METRICS[rules.primary], rules.effect)
    found = _primary(pairs, rules)
    if found.low > -needed and found.high < needed:
        return "FUTILE", Text("{seen}: too little to matter", "{seen}：差别太小").format(seen=_measured(pairs, rules))
    if total is None or found.n < rules.least_pairs or _won(pairs, rules):
        return None
    chance = probability_of_gain(values, rules.alpha, needed, total)
    if chance < _HOPELESS:
        text = Text(
            "{seen}; the chance of a win within the time is {chance:.0%}", "{seen}；在时限内获胜的概率为 {chance:.0%}"
        )
        return "FUTILE", text.format(seen=_measured(pairs, rules), chance=chance)
    return None


def _open(pairs: Sequence[Pair], guards: Sequence[Guard], rules: Rules) -> Text:
    left = unproven(guards, rules)
    if len(pairs) < rules.least_pairs:
        text = Text("{n} of at least {least} pairs of blocks", "已有 {n} 对区块，至少需要 {least} 对")
        return text.format(n=len(pairs), least=rules.least_pairs)
    if left and (_won(pairs, rules) or rules.goal == "no-regression"):
        said = "; no regression is not shown yet for {names}"
        text = Text("{seen}" + said, "{seen}；尚未证明以下指标没有退化：{names}")
        names = Text(*(", ".join(METRICS[g.metric].label.in_(lang) for g in left) for lang in ("en", "zh")))
        return text.format(seen=_measured(pairs, rules), names=names)
    return Text("{seen}, which decides nothing", "{seen}，尚不能下结论").format(seen=_measured(pairs, rules))


def bounds(low: float | None, high: float | None, scale: str) -> Text:
    """An interval as it is printed: ``-12.0% to -3.1%``; of shares in points."""
    if scale == "points":
        first, last = ("?" if end is None else f"{100 * end:+z.1f}" for end in (low, high))
        return Text(f"{first} to {last} points", f"{first} 至 {last} 个百分点")
    first, last = (percent_text(end) for end in (low, high))
    return Text(f"{first} to {last}", f"{first} 至 {last}")


def percent_text(end: float | None) -> str:
    """A relative change: ``-12.0%``, or ``x12`` where percents would have four digits."""
    if end is None:
        return "?"
    return f"×{1 + end:.0f}" if end >= 9 else f"{100 * end:+z.1f}%"

"""The same load for hours, window after window, and whether anything gets worse over them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev

import msgspec

from whystall.model.slo import Slo
from whystall.model.soak import Soak, SoakVerdict, SoakWindow, Trend
from whystall.model.text import Text
from whystall.model.trial import Metric

from .arm import Arm
from .blocks import BlockResult
from .load.findings import load_findings
from .load.plan import LoadPlan
from .metrics import GUARDED, METRICS, shown, worse_by
from .rules import FELT, floors_of
from .sequential import student_quantile

LEAST_WINDOWS = 6  # a third of them on either side, and a spread needs two
_FAILING = 0.01
_HEAD_SHARE = 0.1
Say = Callable[[str], None]


class SoakSpec(msgspec.Struct, frozen=True, kw_only=True):
    """``plan`` for ``seconds`` of the server's time, in windows of ``window_s``."""

    plan: LoadPlan
    seconds: float
    window_s: float
    slo: Slo | None = None
    seed: int = 1


async def soak(arm: Arm, spec: SoakSpec, say: Say, keep: Callable[[SoakWindow], None] | None = None) -> Soak:
    """Send the load until the time is up. ``keep`` gets each window at once, so that a crash loses only the last."""
    spec.plan.check()
    results: list[BlockResult] = []
    windows: list[SoakWindow] = []
    begun = arm.now
    # Every window has the same arrivals and lengths, so that only the server can differ; the prompts are others, but for
    # what the load itself shares.
    while arm.now - begun < spec.seconds:
        at = arm.now - begun
        trace = spec.plan.trace(spec.window_s, seed=spec.seed, start=at)
        result = await arm.block(msgspec.structs.replace(trace, salt=spec.seed, seed=len(windows)), spec.window_s)
        window = _window(result, spec)
        results.append(result)
        windows.append(window)
        if keep is not None:
            keep(window)
        say(_line(at, window))
    return summarise(arm.label.target, windows, results, spec, arm.now - begun)


def _window(result: BlockResult, spec: SoakSpec) -> SoakWindow:
    figures = result.figures(spec.window_s * _HEAD_SHARE, spec.slo)
    return SoakWindow(result.started, result.seconds, result.requests, int(result.failed.sum()), figures)


def _line(at: float, window: SoakWindow) -> str:
    e2e, ttft = (window.figures.get(metric) for metric in ("e2e_p95", "ttft_p95"))
    told = [f"{name} {value:.3g} s" for name, value in (("TTFT p95", ttft), ("E2E p95", e2e)) if value is not None]
    return f"{at / 60:7.1f} min: {window.requests} requests, {window.failed} failed, {', '.join(told) or 'no answer'}"


def summarise(
    target: str, windows: Sequence[SoakWindow], results: Sequence[BlockResult], spec: SoakSpec, seconds: float
) -> Soak:
    """The windows as one answer."""
    trends = tuple(trend for metric in GUARDED if (trend := _trend(metric, windows)) is not None)
    requests, failed = sum(w.requests for w in windows), sum(w.failed for w in windows)
    floors = floors_of(spec.slo) if spec.slo is not None else FELT
    felt = tuple(t for metric in GUARDED if (t := _trend(metric, windows, floors.get(metric, 0.0))) is not None)
    verdict, because = _verdict(windows, felt, failed / max(requests, 1))
    seen = [value for w in windows if (value := w.figures.get("slo_attainment")) is not None]
    return Soak(
        target=target,
        verdict=verdict,
        because=because,
        windows=tuple(windows),
        trends=trends,
        requests=requests,
        failed=failed,
        seconds=seconds,
        load=spec.plan.describe(),
        attainment=fmean(seen) if seen else None,
        findings=tuple(load_findings(spec.plan, results, [], spec.window_s * _HEAD_SHARE)),
    )


def _trend(metric: Metric, windows: Sequence[SoakWindow], floor: float = 0.0) -> Trend | None:
    """Welch's interval of the difference of means on the scale that is averaged; windows lie far enough apart.

    Values below ``floor`` are not told apart: what nobody feels, or the SLO allows, does not get worse.
    """
    entry = METRICS[metric]
    if entry.scale == "points":
        return None  # told as shares of the whole
    seen = ((w.started, w.figures.get(metric)) for w in windows)
    values = [(at, max(v, floor)) for at, v in seen if v is not None and v > 0]
    if not values:
        return None
    pick = min if entry.better == "higher" else max
    worst_at, worst = pick(values, key=lambda pair: pair[1])
    third = len(values) // 3
    if len(values) < LEAST_WINDOWS:
        return Trend(metric, None, None, None, worst, worst_at)
    first, last = ([math.log(v) for _, v in part] for part in (values[:third], values[-third:]))
    mid = fmean(last) - fmean(first)
    spread = math.sqrt((stdev(first) ** 2 + stdev(last) ** 2) / third)
    half = student_quantile(0.975, 2 * third - 2) * spread
    low, middle, high = (shown(entry, x) for x in (mid - half, mid, mid + half))
    return Trend(metric, low, middle, high, worst, worst_at)


def _verdict(windows: Sequence[SoakWindow], trends: Sequence[Trend], failing: float) -> tuple[SoakVerdict, Text]:
    if failing > _FAILING:
        return "failing", Text("{share:.1%} of the requests failed", "{share:.1%} 的请求失败").format(share=failing)
    if len(windows) < LEAST_WINDOWS:
        text = Text("{n} windows, and a trend needs {least}", "仅 {n} 个窗口，判断趋势需要 {least} 个")
        return "too short", text.format(n=len(windows), least=LEAST_WINDOWS)
    worse = [trend for trend in trends if _surely_worse(trend)]
    if worse:
        text = Text("over the run it got worse: {names}", "运行期间变差：{names}")
        names = (
            ", ".join(f"{METRICS[t.metric].label.in_(lang)} {100 * (t.mid or 0):+.0f}%" for t in worse)
            for lang in ("en", "zh")
        )
        return "worse", text.format(names=Text(*names))
    noisy = [trend for trend in trends if _may_be_worse(trend)]
    if noisy:
        text = Text(
            "nothing surely got worse, but windows differ too much to rule it out for {names}; soak for longer",
            "没有指标确定变差，但各窗口差异过大，无法排除以下指标变差：{names}；请延长时间",
        )
        listed = (", ".join(METRICS[t.metric].label.in_(lang) for t in noisy) for lang in ("en", "zh"))
        return "unclear", text.format(names=Text(*listed))
    return "steady", Text(
        "nothing got worse by its margin from the first third to the last", "前后三分之一相比，没有指标变差超过容限"
    )


def _worse_bounds(trend: Trend) -> tuple[float, float] | None:
    """How much worse, as an interval on the scale that is averaged; None where it is not bounded or no side is worse."""
    entry = METRICS[trend.metric]
    if trend.low is None or trend.high is None or entry.better == "neither":
        return None
    sign = -1 if entry.better == "higher" else 1
    low, high = sorted(sign * math.log1p(end) for end in (trend.low, trend.high))
    return low, high


def _surely_worse(trend: Trend) -> bool:
    """Whether the whole interval is on the worse side, and its middle is over the metric's margin."""
    found, entry = _worse_bounds(trend), METRICS[trend.metric]
    return found is not None and found[0] > 0 and sum(found) / 2 > worse_by(entry, entry.margin)


def _may_be_worse(trend: Trend) -> bool:
    """Whether its interval reaches over the metric's margin."""
    found, entry = _worse_bounds(trend), METRICS[trend.metric]
    return found is not None and found[1] > worse_by(entry, entry.margin)

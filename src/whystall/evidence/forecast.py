"""Where the trend of the last half minute leads, before it is there."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Floats, Scene
from .thresholds import level, ramp
from .wording import span


def forecast(scene: Scene) -> Iterator[Evidence]:
    """Evidence of blocks that run out and of a queue that grows, at the present slope, with the slope's own interval."""
    yield from _blocks(scene)
    yield from _queue(scene)


def _blocks(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    trend = _trend(scene, state.kv_usage_end)
    if trend is None:
        return
    now, slope, low, high = trend
    if now >= level("kv_wall") or low <= 0:
        return
    left = 1.0 - now
    seconds, soonest, latest = left / slope, left / high, left / low
    if seconds > level("forecast_far"):
        return
    text = Text(
        "KV blocks run out in {seconds} at this slope ({soonest} to {latest}): {now:.0%} used, {slope:+.1%} a minute",
        "按此斜率 KV 块将在 {seconds} 后用尽（{soonest} 至 {latest}）：已用 {now:.0%}，每分钟 {slope:+.1%}",
    )
    words = text.format(seconds=span(seconds), soonest=span(soonest), latest=span(latest), now=now, slope=60 * slope)
    strength = ramp(seconds, level("forecast_far"), level("forecast_far") / 3)
    yield scene.evidence("forecast.kv", seconds, "s", strength, words, anomaly=True)


def _queue(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    trend = _trend(scene, state.waiting_end)
    if trend is None or trend[0] < level("queue_grown") or trend[2] <= 0:
        return
    now, slope, _, _ = trend
    seconds = now / slope
    if seconds > level("forecast_far"):
        return
    text = Text(
        "the queue of {now:.0f} doubles in {seconds} at this slope ({slope:+.1f} requests a minute)",
        "按此斜率，{now:.0f} 个请求的队列将在 {seconds} 后翻倍（每分钟 {slope:+.1f} 个）",
    )
    words = text.format(now=now, seconds=span(seconds), slope=60 * slope)
    strength = ramp(seconds, level("forecast_far"), level("forecast_far") / 3)
    yield scene.evidence("forecast.queue", seconds, "s", strength, words, anomaly=True)


def _trend(scene: Scene, gauge: Floats) -> tuple[float, float, float, float] | None:
    """(value now, slope a second, low, high) of the window's last stretch, None where it is short or has no trend.

    Theil-Sen: the median slope over all pairs, which no single odd scrape moves; its 90% interval by Kendall's variance.
    """
    state = scene.state
    at = state.valid & np.isfinite(gauge) & (state.t_end > state.seconds - level("forecast_over"))
    t, y = state.t_end[at][-120:], gauge[at][-120:]
    n = len(t)
    if n < level("forecast_scrapes") or t[-1] - t[0] < level("forecast_over") / 2 or t[-1] < state.seconds - 1e-6:
        return None
    first, second = np.triu_indices(n, 1)
    slopes = np.sort((y[second] - y[first]) / (t[second] - t[first]))
    pairs = len(slopes)
    half = 1.645 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18) / 2
    low = float(slopes[max(int((pairs / 2) - half), 0)])
    high = float(slopes[min(int((pairs / 2) + half), pairs - 1)])
    slope = float(np.median(slopes))
    now = float(np.median(y - slope * (t - t[-1])))
    return (now, slope, low, high) if slope > 0 else None

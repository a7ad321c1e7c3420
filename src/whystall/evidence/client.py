"""The client's own view against the server's."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text
from whystall.state.histograms import mean_of, quantile_of

from .bounds import bounds
from .client_gap import client_gap, sure_gap
from .scene import Scene
from .thresholds import level, ramp
from .wording import span


def client(scene: Scene) -> Iterator[Evidence]:
    """Evidence from the load generator's or the caller's file."""
    if scene.state.client is None:
        return
    yield from _errors(scene)
    yield from _gap(scene)
    yield from _stream(scene)
    yield from _send_lag(scene)


def _errors(scene: Scene) -> Iterator[Evidence]:
    view = scene.state.client
    assert view is not None
    sent = float(view.sent[scene.inside].sum())
    if not sent > 0:
        return
    refused = float(view.rejected[scene.inside].sum()) / sent
    failed = float(view.errors[scene.inside].sum()) / sent
    text = Text(
        "{failed:.0%} of the client's requests failed, {refused:.0%} with 503 or 429",
        "客户端请求有 {failed:.0%} 失败，{refused:.0%} 得到 503 或 429",
    )
    if not failed and not refused:
        text = Text("none of the client's requests failed", "客户端请求没有失败")
    strength = ramp(refused, level("felt_errors"), 0.1) if refused > 0 else -0.5
    yield scene.evidence(
        "client.refused", refused, "ratio", strength, text.format(failed=failed, refused=refused), "client"
    )


def _gap(scene: Scene) -> Iterator[Evidence]:
    """Client TTFT less server TTFT, of the requests of the incident: network, proxy and the client itself."""
    # What comes and goes is measured while it is there, where it fills what is worth naming.
    late = scene.inside & (client_gap(scene.state) > bounds(scene.slo).wait_s)
    at = late if scene.focus.kinds.get("client", 0.0) >= level("gain") else scene.inside
    (gap, sure), theirs = sure_gap(scene.state, at), mean_of(scene.state.ttft, at)
    if not (math.isfinite(gap) and math.isfinite(theirs)):
        return
    text = Text(
        "the client's mean TTFT is {gap} {side} the server's {theirs}",
        "客户端的平均 TTFT 比服务器的 {theirs} {side} {gap}",
    )
    # Requests that were still open are in the server's histogram only, so the client's mean may be the lower one.
    side = Text("above", "高") if gap > 0 else Text("below", "低")
    strength = (
        ramp(sure / max(_beside_its_queue(scene, theirs), 1e-3), 0.2, 1.0) if sure > level("felt_wait") / 2 else -0.5
    )
    words = text.format(gap=span(abs(gap)), side=side, theirs=span(theirs))
    yield scene.evidence("client.gap", gap, "s", strength, words, "client")


def _beside_its_queue(scene: Scene, theirs: float) -> float:
    """What a first token takes the server beside its queue, or took before: the way to it gets no shorter by the wait."""
    queued, past = mean_of(scene.state.queue, scene.inside), mean_of(scene.state.ttft, scene.before)
    return float(np.fmin.reduce([theirs, theirs - queued, past if scene.before.any() else math.nan]))


def _stream(scene: Scene) -> Iterator[Evidence]:
    """Client ITL against the engine's: a proxy that buffers hands tokens on in clumps, faster than they were made.

    Median against median, by the lower edge of its bucket: a few long gaps, as other people's prompts make, raise the
    server's mean far above what most tokens take, and so do no clumps.
    An even spacing says little against a buffer (it may hold only the first piece), so it speaks against weakly.
    """
    view = scene.state.client
    assert view is not None
    came = view.rows.sent + view.rows.ttft_s - scene.state.start
    at = np.searchsorted(scene.state.t_end, came)
    inside = (at < len(scene.state.dt)) & scene.inside[np.minimum(at, len(scene.state.dt) - 1)]
    mine = view.rows.itl_p50_s[inside & np.isfinite(view.rows.itl_p50_s)]
    middle, low, _ = quantile_of(scene.state.itl, 0.5, scene.inside)
    theirs = float(np.fmin(mean_of(scene.state.itl, scene.inside), low or middle))
    if len(mine) < 10 or not theirs > 0:
        return
    times = float(np.median(mine)) / theirs
    text = Text(
        "the client's median ITL is {times:.2f} times what half of the server's tokens take at least",
        "客户端 ITL 中位数是服务器半数 token 间隔下限的 {times:.2f} 倍",
    )
    strength = max(-0.5, ramp(times, 0.6, 0.3))
    yield scene.evidence("client.clumps", times, "ratio", strength, text.format(times=times), "client")


def _send_lag(scene: Scene) -> Iterator[Evidence]:
    """A load generator that sends late limits itself (method.md 3): 5 ms at the 99th percentile."""
    view = scene.state.client
    assert view is not None
    lag = view.send_lag_p99_s
    if not math.isfinite(lag):
        return
    text = Text("the client sends {lag} late at the 99th percentile", "客户端发送延迟 99 分位为 {lag}")
    if lag <= 0:
        text = Text("the client sends on time", "客户端按时发送")
    yield scene.evidence("client.send_lag", lag, "s", ramp(lag, 0.005, 0.1), text.format(lag=span(lag)), "client")

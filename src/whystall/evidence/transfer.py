"""KV caches that come from another server: disaggregated prefill and its connectors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.engine_state import Subsystems
from whystall.model.text import Text
from whystall.state.histograms import mean_of

from .scene import Scene
from .thresholds import level, ramp
from .wording import size, span

# Connectors that keep blocks on this host: their look-ups that find nothing are no failed transfer.
_OFFLOADERS = ("offload", "lmcache", "flexkv")


def transfer(scene: Scene) -> Iterator[Evidence]:
    """Evidence of KV transfers: how long, how many wait for one, how many fail, and whether they are used at all."""
    parts = scene.state.subsystems
    if parts is None:
        return
    yield from _configured(scene)
    yield from _fetching(scene, parts)
    yield from _time(scene, parts)
    yield from _failures(scene, parts)
    yield from _unused(scene, parts)


def _remote(scene: Scene) -> bool:
    """Whether a connector brings blocks from another server, and this server is one that gets them."""
    told = scene.state.configuration.flags.get("kv_transfer_config", "").lower()
    return bool(told) and not any(word in told for word in _OFFLOADERS) and "kv_producer" not in told


def _configured(scene: Scene) -> Iterator[Evidence]:
    if not scene.state.configuration.flags:
        return
    remote = _remote(scene)
    text = Text("no KV connector brings blocks from another server", "没有 KV 连接器从其他服务器获取块")
    if remote:
        text = Text("a KV connector brings blocks from another server", "KV 连接器从其他服务器获取块")
    yield scene.evidence("config.transfer", float(remote), "flag", 1.0 if remote else -0.1, text, "config")


def _fetching(scene: Scene, parts: Subsystems) -> Iterator[Evidence]:
    fetching = scene.mean(parts.fetching_end)
    held = scene.mean(scene.state.running_end) + scene.mean(scene.state.waiting_end)
    if not (math.isfinite(fetching) and held > 0):
        return
    share = fetching / held
    text = Text(
        "{fetching:one request|# requests}, {share:.0%} of those inside, wait for their KV cache from another server",
        "{fetching:~2} 个请求（占在内请求的 {share:.0%}）在等待来自另一服务器的 KV 缓存",
    ).format(fetching=fetching, share=share)
    yield scene.evidence("transfer.fetching", share, "ratio", _for(ramp(share, 0.1, level("binds_share"))), text)


def _time(scene: Scene, parts: Subsystems) -> Iterator[Evidence]:
    """Mean time of a transfer as a share of the time to first token."""
    each, ttft = scene.ratio(parts.transfer_s, parts.transfers), mean_of(scene.state.ttft, scene.inside)
    if not (each > 0 and ttft > 0):
        return
    speed = scene.ratio(parts.transfer_bytes, parts.transfer_s)
    rate = Text(f" at {size(speed)} a second", f"（每秒 {size(speed)}）") if speed > 0 else Text("", "")
    text = Text(
        "a KV transfer takes {each}{rate}, {share:.0%} of the time to first token",
        "一次 KV 传输用时 {each}{rate}，占首 token 时间的 {share:.0%}",
    ).format(each=span(each), rate=rate, share=each / ttft)
    strength = min(ramp(each / ttft, 0.1, level("binds_share")), ramp(each, level("felt_wait") / 4, level("felt_wait")))
    yield scene.evidence("transfer.time", each / ttft, "ratio", _for(strength), text)


def _failures(scene: Scene, parts: Subsystems) -> Iterator[Evidence]:
    failed = float(np.nansum(parts.transfer_failures[scene.inside]))
    if not np.isfinite(parts.transfer_failures[scene.inside]).any():
        return
    tried = failed + float(np.nansum(parts.transfers[scene.inside]))
    share = failed / tried if tried > 0 else 0.0
    text = Text(
        "{failed:one KV transfer|# KV transfers} failed or expired, {share:.1%} of all",
        "{failed:.0f} 次 KV 传输失败或过期，占全部的 {share:.1%}",
    ).format(failed=failed, share=share)
    strength = _for(ramp(share, level("felt_errors") / 2, 5 * level("felt_errors")) if failed > 0 else -0.3)
    yield scene.evidence("transfer.failed", share, "ratio", strength, text)


def _unused(scene: Scene, parts: Subsystems) -> Iterator[Evidence]:
    """A decode server that computes the prompts itself: its transfers bring nothing (incident 113)."""
    state = scene.state
    prompts = scene.rate(state.prompt_tokens)
    if not (_remote(scene) and prompts > 0):
        return
    brought = scene.rate(state.external_tokens)
    share = (brought if math.isfinite(brought) else 0.0) / prompts
    text = Text(
        "{share:.0%} of the prompt tokens came from the prefill server, the rest was computed here",
        "{share:.0%} 的提示 token 来自预填充服务器，其余在此计算",
    ).format(share=share)
    yield scene.evidence("transfer.unused", share, "ratio", _for(ramp(share, 0.5, 0.1)), text)


def _for(strength: float) -> float:
    """Transfers go wrong in several ways: that one of them is not seen hardly speaks against the others."""
    return max(strength, -0.1)

"""Requests that wait for something else than capacity: a grammar, an adapter, another server's KV cache."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .thresholds import level, ramp


def _felt(scene: Scene, aside: float) -> float:
    """Strength of the wait of those set aside by itself, by Little's law: beside a queue for capacity they are few of it."""
    admitted = scene.rate(scene.state.first_tokens)
    if not (aside > 0 and admitted > 0):
        return -1.5
    return ramp(math.log(aside / admitted), math.log(level("felt_wait")), math.log(1.0))


def deferred(scene: Scene) -> Iterator[Evidence]:
    """Share of the waiting requests that the scheduler set aside (``reason="deferred"``, vllm.md 1.2), and for what."""
    state = scene.state
    waiting, aside = scene.mean(state.waiting_end), scene.mean(state.waiting_deferred_end)
    if np.isfinite(aside):
        share = aside / waiting if waiting > 0 else 0.0
        text = Text(
            "{share:.0%} of the waiting requests are set aside for something else than capacity",
            "等待的请求中有 {share:.0%} 因容量以外的原因被搁置",
        )
        if not aside > 0:
            text = Text("no request is set aside for something else than capacity", "没有请求因容量以外的原因被搁置")
        mostly = ramp(share, level("binds_share"), 2 * level("binds_share")) if waiting > 0 else -0.5
        strength, words = max(mostly, _felt(scene, aside)), text.format(share=share)
        yield scene.evidence("queue.deferred", share, "ratio", strength, words)
        # Of causes that are short of capacity only a queue that waits for something else is a sign, not its absence.
        if mostly > 0:
            yield scene.evidence("wait.aside", share, "ratio", mostly, words)
    lora = state.configuration.lora
    if lora is not None:
        text = Text("LoRA adapters are on", "已启用 LoRA 适配器") if lora else Text("LoRA is off", "未启用 LoRA")
        yield scene.evidence("config.lora", float(lora), "flag", 1.0 if lora else -1.0, text, "config")

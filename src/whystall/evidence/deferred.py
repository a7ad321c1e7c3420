"""Requests that wait for something else than capacity: a grammar, an adapter, another server's KV cache."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .thresholds import level, ramp


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
        strength = ramp(share, level("binds_share"), 2 * level("binds_share")) if waiting > 0 else -0.5
        yield scene.evidence("queue.deferred", share, "ratio", strength, text.format(share=share))
        # Of causes that are short of capacity only a wait for something else is a sign, not its absence.
        if strength > 0:
            yield scene.evidence("wait.aside", share, "ratio", strength, text.format(share=share))
    lora = state.configuration.lora
    if lora is not None:
        text = Text("LoRA adapters are on", "已启用 LoRA 适配器") if lora else Text("LoRA is off", "未启用 LoRA")
        yield scene.evidence("config.lora", float(lora), "flag", 1.0 if lora else -1.0, text, "config")

"""Speculative decoding: does it win back what it costs, at this batch and this acceptance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import msgspec
import numpy as np

from whystall.model.diagnosis import Evidence, Signal
from whystall.model.text import Text

from .devices import device
from .scene import Scene
from .thresholds import level, ramp

_LENGTH = re.compile(r"Mean acceptance length: (\d{1,4}(?:\.\d{1,6})?)")
_MOST_SHOWN = 5  # positions


class Drafting(msgspec.Struct, frozen=True):
    """Tokens drafted a draft, the share accepted, the mean tokens a step yields, and acceptance by position."""

    drafted: float
    accepted_ratio: float
    length: float
    by_position: tuple[float, ...] = ()
    source: Signal = "metrics"


def speculation(scene: Scene) -> Iterator[Evidence]:
    """Evidence of acceptance and of the gain that the roofline leaves; absent without speculation."""
    drafting = _counted(scene) or _logged(scene)
    if drafting is None:
        return
    yield _acceptance(scene, drafting)
    yield from _gain(scene, drafting)


def _counted(scene: Scene) -> Drafting | None:
    parts, state = scene.state.subsystems, scene.state
    if parts is None:
        return None
    drafted = scene.ratio(state.draft_tokens, parts.drafts)
    accepted = scene.ratio(state.accepted_tokens, parts.drafts)
    if not (drafted > 0 and math.isfinite(accepted)):
        return None
    drafts = float(np.nansum(parts.drafts[scene.inside]))
    positions = np.nansum(parts.accepted_by_position[scene.inside], axis=0) / drafts
    return Drafting(drafted, accepted / drafted, 1 + accepted, tuple(map(float, positions)))


def _logged(scene: Scene) -> Drafting | None:
    """The periodic line ``SpecDecoding metrics``, where the page has no counters."""
    found = [(e.value, m) for e in scene.state.events if e.id == "spec_decode_stats" and (m := _LENGTH.search(e.text))]
    rates = [(float(match[1]), value) for value, match in found if value is not None and value > 0]
    if not rates:
        return None
    length, rate = (float(np.mean(column)) for column in zip(*rates, strict=True))
    return Drafting(max(length - 1, 0.0) / rate, rate, length, source="log")


def _acceptance(scene: Scene, drafting: Drafting) -> Evidence:
    """By position: where the second token is hardly ever taken, a shorter draft costs less and gives the same."""
    text = Text(
        "{ratio:.0%} of the drafted tokens are accepted, {length:~3} tokens a step of {most:~3} possible{positions}",
        "草稿 token 的接受率为 {ratio:.0%}，每步 {length:~3} 个 token，最多 {most:~3} 个{positions}",
    )
    shown = " ".join(f"{share:.0%}" for share in drafting.by_position[:_MOST_SHOWN])
    positions = Text(f" (by position {shown})", f"（按位置 {shown}）") if shown else Text("", "")
    words = text.format(
        ratio=drafting.accepted_ratio, length=drafting.length, most=drafting.drafted + 1, positions=positions
    )
    strength = ramp(drafting.accepted_ratio, 0.6, 0.3)
    return scene.evidence("spec.acceptance", drafting.accepted_ratio, "ratio", strength, words, drafting.source)


def _gain(scene: Scene, drafting: Drafting) -> Iterator[Evidence]:
    """Tokens a second with drafting over those without, by the roofline of a step.

    A step reads the weights once whatever it holds, up to the ridge; above it time goes with its tokens. With ``S``
    requests and drafts of ``k`` it holds ``S (k + 1)`` instead of ``S``, and yields ``length`` tokens a request. The
    drafter's own time is reckoned at ``draft_cost`` of a step.
    """
    state = scene.state
    batch = scene.mean((state.running_start + state.running_end) / 2)
    if not batch > 0:
        return
    known = device(state.gpu.name if state.gpu is not None else state.configuration.gpu_name)
    ridge = known.ridge_tokens if known is not None else level("ridge_default")
    grown = max(1.0, batch * (drafting.drafted + 1) / ridge) / max(1.0, batch / ridge)
    gain = drafting.length / grown / (1 + level("draft_cost"))
    text = Text(
        "with {batch:~3} requests a step verifies {tokens:.0f} tokens where {ridge:.0f} are free: "
        "drafting gives {gain:~3} times the tokens a second that decoding without it would",
        "{batch:~3} 个请求时每步验证 {tokens:.0f} 个 token，其中 {ridge:.0f} 个不额外耗时："
        "投机解码每秒产出为不用时的 {gain:~3} 倍",
    ).format(batch=batch, tokens=batch * (drafting.drafted + 1), ridge=ridge, gain=gain)
    yield scene.evidence("spec.gain", gain, "ratio", ramp(gain, 1.0 + level("gain"), 1.0), text)

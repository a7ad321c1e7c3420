"""Single gaps between tokens that are far longer than any step: somebody held the engine up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text
from whystall.state.step_cost import edges_of

from .scene import Scene
from .thresholds import level, ramp


class Pauses(NamedTuple):
    """Gaps between tokens of ``long_s`` and more: their share of the time lost between tokens, and how many there were."""

    share: float
    times: float
    long_s: float
    median_s: float


def pauses(scene: Scene) -> Pauses | None:
    """Single gaps far longer than any step of this server; None where too little is lost between tokens to tell."""
    itl, usual = scene.state.itl, scene.usual_itl_s
    counts = np.nansum(itl.counts[scene.inside], axis=0)
    total, number = float(np.nansum(itl.sum[scene.inside])), float(counts.sum())
    lost = total - usual * number
    if not (scene.focus.hurts and number >= level("episode_tokens") and lost > level("gain") * total):
        return None
    lower, upper = edges_of(itl).T
    middle, half = (lower + upper) / 2, int(np.searchsorted(np.cumsum(counts), number / 2))
    long_s = max(level("felt_wait"), 4 * float(upper[half]), scene.paced.pause_s if scene.paced is not None else 0.0)
    long = middle >= long_s  # a bucket is on the side on which most of it lies
    paused = float((counts * middle)[long].sum())
    running = max(scene.mean(np.fmax(scene.state.running_start, scene.state.running_end)), 1.0)
    return Pauses(float(np.clip(paused / lost, 0.0, 1.0)), float(counts[long].sum()) / running, long_s, middle[half])


def paused(scene: Scene) -> Iterator[Evidence]:
    """Evidence of the share of the time lost between tokens that lies in pauses."""
    found = pauses(scene)
    if found is None:
        return
    text = Text(
        "{share:.0%} of the time lost between tokens lies in {times:one pause|# pauses} of over {long:span}{prompts}; the "
        "median gap is {median:~2} ms",
        "token 间损失时间的 {share:.0%} 落在 {times:.0f} 次超过 {long:span}{prompts}的停顿中；间隔中位数 {median:~2} 毫秒",
    )
    known = scene.before.any()  # without a healthy past nobody knows what a step with prompts takes here
    prompts = Text(" that prompts do not explain", "、提示无法解释") if known else Text("", "")
    none = Text(
        "every gap between tokens is longer: pauses of over {long:span} make {share:.0%} of the lost time",
        "每个 token 间隔都变长：超过 {long:span}的停顿只占损失时间的 {share:.0%}",
    )
    strength = ramp(found.share, level("pause_share") / 2, 1.5 * level("pause_share"))
    words = (text if strength > 0 else none).format(
        share=found.share, times=found.times, prompts=prompts, long=found.long_s, median=1e3 * found.median_s
    )
    yield scene.evidence("step.pauses", found.share, "ratio", strength, words)
    yield from _unnamed(scene, found)


_NAMED = ("gc_pause", "jit_compile", "profiler_stopping")


def _unnamed(scene: Scene, found: Pauses) -> Iterator[Evidence]:
    """The part of the pauses for which the log has no line: a collector that paused five times made no fifty pauses."""
    if "log" not in scene.state.signals or not found.times >= 1:
        return
    lines = [e.t - scene.state.start for e in scene.state.events if e.id in _NAMED and e.t is not None]
    at = np.searchsorted(scene.state.t_end, lines)
    named = int(scene.inside[at[at < len(scene.inside)]].sum())
    share = max(1 - named / found.times, 0.0)
    text = Text("the log names {named} of {times:one pause|# pauses}", "{times:.0f} 次停顿中日志说明了 {named} 次")
    words = text.format(named=named, times=found.times)
    yield scene.evidence("pauses.unnamed", share, "ratio", ramp(share, 0.3, 0.7), words, "log")

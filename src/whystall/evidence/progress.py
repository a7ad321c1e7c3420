"""Does the engine advance at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence, Onset
from whystall.model.text import Text

from .scene import Scene
from .smoothing import runs
from .standstill import frozen_tokens, stalled
from .thresholds import level, ramp


def progress(scene: Scene) -> Iterator[Evidence]:
    """Evidence of a passing standstill, and of one that lasts to the window's end."""
    state = scene.state
    still = stalled(state)
    stretches = runs(still)
    if not stretches and frozen_tokens(state).any():
        yield _between_scrapes(scene)
        return
    if not stretches:
        yield scene.evidence(
            "progress.stalled", 0.0, "s", -1.0, Text("the engine advanced all the time", "引擎一直在推进")
        )
        return
    frozen = _frozen(scene, stretches[-1])
    if frozen is not None:
        yield frozen
        return
    longest = max(stretches, key=lambda r: float(state.dt[r[0] : r[1]].sum()))
    seconds = float(state.dt[longest[0] : longest[1]].sum())
    text = Text(
        "no step, token or admission for {seconds:span} with {running:.0f} requests in flight, then on as before",
        "{running:.0f} 个请求在途时有 {seconds:span}没有任何步、token 或准入，随后恢复",
    )
    running = float(np.nan_to_num(state.running_start[longest[0]]) + np.nan_to_num(state.waiting_start[longest[0]]))
    onset = _onset(scene, longest[0])
    strength = ramp(seconds, level("stall_min") - 1.0, level("stall_min") + 1.0)
    if scene.paced is not None and seconds < scene.paced.pause_s:
        strength = min(strength, 0.2)  # a step of this server's longest prompts may last as long
    words = text.format(seconds=seconds, running=running)
    yield scene.evidence("progress.stalled", seconds, "s", strength, words, onset=onset, anomaly=True)


def _between_scrapes(scene: Scene) -> Evidence:
    """A standstill that began and ended between two scrapes, seen by the tokens that waited for it."""
    state = scene.state
    first = int(np.argmax(frozen_tokens(state)))
    lower = np.concatenate(([0.0], state.itl.bounds))
    seconds = float(lower[np.flatnonzero(np.nan_to_num(state.itl.counts[first]) > 0)[-1]])
    text = Text(
        "most running requests waited over {seconds:span} for one token: a standstill between two scrapes",
        "多数运行中的请求为一个 token 等待超过 {seconds:span}：两次采样之间发生了停顿",
    )
    onset = _onset(scene, first)
    words = text.format(seconds=seconds)
    return scene.evidence("progress.stalled", seconds, "s", 1.0, words, onset=onset, anomaly=True)


def _frozen(scene: Scene, last: tuple[int, int]) -> Evidence | None:
    """The stretch that reaches the window's end, when it is long enough to be a hang."""
    state = scene.state
    seconds = float(state.dt[last[0] : last[1]].sum())
    if last[1] < len(state.dt) or seconds < level("hang_min"):
        return None
    text = Text(
        "counters have been flat for {seconds:span} with {running:.0f} requests in flight, and still are{health}",
        "{running:.0f} 个请求在途，计数器已停滞 {seconds:span}且仍未恢复{health}",
    )
    health = Text("; /health answers 200", "；/health 返回 200") if state.health_ok else Text("", "")
    running = float(np.nan_to_num(state.running_end[-1]) + np.nan_to_num(state.waiting_end[-1]))
    return scene.evidence(
        "progress.frozen",
        seconds,
        "s",
        1.5,
        text.format(seconds=seconds, running=running, health=health),
        onset=_onset(scene, last[0]),
        anomaly=True,
    )


def _onset(scene: Scene, index: int) -> Onset:
    state = scene.state
    start = float(state.t_start[index])
    return Onset(start, max(start - float(state.dt[max(index - 1, 0)]), 0.0), float(state.t_end[index]))

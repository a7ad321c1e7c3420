"""Requests that pile up in the batch: nobody waits for a seat, and yet more come than finish."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .quotient import quotient
from .scene import Bools, Scene
from .thresholds import level, ramp
from .workload import arrivals

_TEXT = Text(
    "{came:~3} requests arrive a second, {times:~2} times those before, and {finish:~3} finish: {slope:~2} more run with "
    "every second, though nobody waits",
    "每秒到达 {came:~3} 个请求，是此前的 {times:~2} 倍，而完成 {finish:~3} 个：无人排队，但运行数每秒增加 {slope:~2}",
)
_FEW_WAIT = 0.1  # of those that run: above it the queue itself tells
# A batch grows for as long as a request stays whenever more come; it goes on growing where they cannot be served.
_STAYS = 3.0
_SURELY_MORE = 2.0  # a batch wanders by itself where requests stay for many seconds and a third more come


def _unpaid(scene: Scene, at: Bools) -> float:
    """The share of the batch's growth, from the first half of the incident to the second, for which no more tokens came.

    0 where each request that was added got its tokens as fast as those before, 1 where the engine made no more of them. NaN
    where the first half has no batch or makes no tokens: an engine that stands has no most to be at.
    """
    state = scene.state
    half = np.cumsum(state.dt * at) > scene.seconds / 2
    early, late = at & ~half, at & half
    batch = quotient(scene.mean(state.running_end, late), scene.mean(state.running_end, early))
    tokens = quotient(scene.rate(state.generation_tokens, late), scene.rate(state.generation_tokens, early))
    return 1 - (tokens - 1) / (batch - 1) if batch > 1 else math.nan


def piling(scene: Scene) -> Iterator[Evidence]:
    """``batch.growing``: with many seats, more load than capacity shows in the batch long before it shows in a queue.

    The engine is at its most: the batch grows and makes no more tokens, so that each request stays longer and fewer finish
    than come. One-sided: a queue, or a batch that found its size, speaks for itself.
    """
    state, at = scene.state, scene.inside & np.isfinite(scene.state.running_end)
    if (
        not scene.before.any()
        or at.sum() < 4
        or scene.mean(state.waiting_end) > _FEW_WAIT * scene.mean(state.running_end)
    ):
        return
    arrived = arrivals(scene)
    came, usual = scene.rate(arrived), scene.rate(arrived, scene.before)
    slope = float(np.polyfit(state.t_end[at], state.running_end[at], 1)[0])
    stayed = quotient(scene.mean(state.running_end, scene.before), scene.rate(state.finished, scene.before))
    if not (usual > 0 and came > usual and slope > 0 and scene.seconds >= _STAYS * stayed):
        return
    strength = min(
        ramp(slope / came, 0.05, 0.3),
        ramp(_unpaid(scene, at), 0.3, 0.7),
        ramp(slope * scene.seconds, level("queue_grown") / 2, level("queue_grown")),
        ramp(math.log(came / usual), math.log(level("shift")), math.log(_SURELY_MORE)),
    )
    if math.isnan(strength):
        return
    words = _TEXT.format(came=came, times=came / usual, finish=came - slope, slope=slope)
    yield scene.evidence("batch.growing", slope, "req/s", max(strength, 0.0), words)

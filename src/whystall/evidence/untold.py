"""Windows that show no loss and yet are no proof of health: what would show it was not to be seen."""

from __future__ import annotations

import numpy as np

from whystall.model.text import Text
from whystall.state.histograms import count_of, mean_of

from .queueing import queue_delay
from .scene import Scene
from .thresholds import level


def untold(scene: Scene) -> Text | None:
    """Why the window cannot be called healthy; None where nothing speaks against it."""
    return _uncounted_queue(scene) or _busy_for_nobody(scene) or _parts_unseen(scene)


def _uncounted_queue(scene: Scene) -> Text | None:
    """Requests wait most of the time, and no page counts how many are admitted: the wait may be of any length."""
    state = scene.state
    counted = np.isfinite(state.first_tokens) | np.isfinite(state.finished)
    seen = scene.inside & np.isfinite(state.waiting_end)
    if counted[scene.inside].any() or not scene.share(state.waiting_end > 0, seen) > 0.5:
        return None
    if not (queue_delay(state)[scene.inside] > 0).any():
        return None
    text = Text(
        "{n:one request waits|# requests wait} on average, and nothing counts how fast they are admitted",
        "平均有 {n:.0f} 个请求在等待，而没有数据说明准入速度",
    )
    return text.format(n=scene.mean(state.waiting_end))


def _busy_for_nobody(scene: Scene) -> Text | None:
    """The GPU works while no request runs: another process, or a kernel that spins (its power would tell)."""
    gpu = scene.state.gpu
    if gpu is None:
        return None
    nobody = (scene.state.running_start == 0) & (scene.state.running_end == 0)
    if scene.state.running_beside is not None:
        nobody &= scene.state.running_beside == 0
    if not scene.share(nobody) > 0.5:
        return None
    util = scene.mean(gpu.util_ratio, scene.inside & nobody)
    if not util > 1 - level("gpu_idle") / 2:
        return None
    text = Text(
        "the GPU is {util:.0%} busy while no request runs: a kernel that spins or another process; power would tell",
        "没有请求运行时 GPU 仍有 {util:.0%} 繁忙：空转的内核或其他进程；功耗可区分",
    )
    return text.format(util=util)


def _parts_unseen(scene: Scene) -> Text | None:
    """First tokens come late as felt, by more than what was seen of the queue and the prefill, and one of these was not."""
    state = scene.state
    parts = {"queue": mean_of(state.queue, scene.inside), "prefill": mean_of(state.prefill, scene.inside)}
    if all(map(np.isfinite, parts.values())) and np.isfinite(state.waiting_end[scene.inside]).any():
        return None
    ttft = mean_of(state.ttft, scene.inside)
    few = count_of(state.ttft, scene.inside) < level("baseline_requests")
    if few or not ttft - np.nansum(list(parts.values())) > level("felt_wait"):
        return None
    text = Text(
        "first tokens take {ttft:span}, and the page does not say what of it is queue and what prefill",
        "首 token 需 {ttft:span}，而页面没有说明其中多少是排队、多少是预填充",
    )
    return text.format(ttft=ttft)

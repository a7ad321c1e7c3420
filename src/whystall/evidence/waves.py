"""A client that sends in waves: the engine runs dry while nobody waits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .thresholds import ramp

_WAVE = 8.0  # fewer requests that end together are chance


def waves(scene: Scene) -> Iterator[Evidence]:
    """Evidence that running falls from a peak to none with nobody waiting and no prompt coming meanwhile.

    Absent where it does not: a client may limit a server in other ways.
    """
    state = scene.state
    running = np.concatenate((state.running_start[:1], state.running_end))
    if len(running) < 3 or not np.isfinite(running).all() or not (state.waiting_end == 0).all():
        return
    peak = int(np.argmax(running))
    low = peak + int(np.argmin(running[peak:]))
    size = float(running[peak])
    came = (
        float(np.nansum(state.computed_tokens[peak:low]))
        if np.isfinite(state.computed_tokens[peak:low]).any()
        else np.nan
    )
    if low <= peak or came != 0 or scene.focus.hurts:
        return
    drained = 1 - float(running[low]) / max(size, 1.0)
    strength = min(ramp(size, _WAVE / 2, _WAVE), ramp(drained, 0.5, 1.0))
    if strength <= 0:
        return
    text = Text(
        "running falls from {size:.0f} to {low:.0f} with nobody waiting and no prompt coming",
        "运行数从 {size:.0f} 降到 {low:.0f}，其间无人等待也没有新提示",
    )
    yield scene.evidence("clients.waves", size, "req", strength, text.format(size=size, low=float(running[low])))

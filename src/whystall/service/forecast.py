"""What will be full soon, at the slope of the last minutes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whystall.model.incident import Forecast
from whystall.model.text import Text

from .figures import Figures

SPAN_S = 180.0  # shorter, and a wave of arrivals looks like a trend; a request lives for some tens of seconds
LEAST_SPAN_S = 120.0
LEAST_POINTS = 12
LEAST_LEVEL = 0.5  # below half nobody needs to be told
HORIZON_S = 600.0
EXPLAINED = 0.85  # of the level's spread, by the straight line: else it is a wave
_NAMES = {"kv_blocks": Text("KV cache", "KV 缓存"), "seats": Text("the seats (max_num_seqs)", "席位（max_num_seqs）")}
_TEXT = Text(
    "{what} full in {time} at this slope, {level:.0%} now", "按当前斜率，{what}将在{time}后耗尽，当前 {level:.0%}"
)


def forecast(figures: Sequence[Figures], seats: float | None = None) -> Forecast | None:
    """The limit that is full first, within ten minutes; None where none will be, or one is full already."""
    if not figures:
        return None
    recent = [f for f in figures if f.t >= figures[-1].t - SPAN_S]
    t = np.array([f.t for f in recent])
    found = [_line("kv_blocks", t, np.array([f.kv_ratio for f in recent]))]
    if seats:
        found.append(_line("seats", t, np.array([f.running / seats for f in recent])))
    return min((one for one in found if one is not None), key=lambda one: one.in_s, default=None)


def _line(limit: str, t: NDArray[np.float64], level: NDArray[np.float64]) -> Forecast | None:
    """The least-squares line through the levels, where it is one."""
    seen = np.isfinite(level)
    t, level = t[seen], level[seen]
    if len(t) < LEAST_POINTS or t[-1] - t[0] < LEAST_SPAN_S:
        return None
    now = float(level[-3:].mean())
    if not LEAST_LEVEL <= now < 0.97:
        return None
    slope, _ = np.polyfit(t - t[-1], level, 1)
    spread = level.var()
    explained = slope**2 * t.var() / spread if spread > 0 else 0.0
    if slope <= 0 or explained < EXPLAINED:
        return None
    in_s = (1.0 - now) / float(slope)
    if in_s > HORIZON_S:
        return None
    text = _TEXT.format(what=_NAMES[limit], time=_time(in_s), level=now)
    return Forecast(limit, in_s, float(t[-1]), now, float(slope), text)


def _time(seconds: float) -> Text:
    if seconds < 90:
        return Text(f"{seconds:.0f} s", f" {seconds:.0f} 秒")
    return Text(f"{seconds / 60:.0f} min", f" {seconds / 60:.0f} 分钟")

"""The host's memory: does a process grow without end, did a restart free it, was something killed for it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.diagnosis import Evidence, Signal
from whystall.model.text import Text

from .scene import Scene
from .smoothing import runs
from .thresholds import ramp
from .wording import size, span

Floats = NDArray[np.float64]

_PARTS = 8  # a stretch is looked at from each eighth of it on
_LEAST_ROWS = 8  # fewer samples show no line
_LEAST_S = 10.0
_LEAST_BYTES, _LEAST_SHARE = 50e6, 0.02  # heaps breathe by less
_BEND = 0.2  # of the growth: a leak is a line, a warm-up bends
_SLOW_S, _FAST_S = 86_400.0, 3600.0  # to double or run out: a day is a watch's business, an hour is an incident
_KILLED = -9.0  # the exit code of a process that the kernel killed


class Growth(msgspec.Struct, frozen=True):
    """A stretch of steady growth of one process: bytes a second, from and to which size, over how many seconds."""

    name: str
    per_s: float
    low: float
    high: float
    seconds: float


def memory(scene: Scene) -> Iterator[Evidence]:
    """Evidence on resident memory: of the API process by the page, of every process where the host was read."""
    series = _series(scene)
    if series:
        yield _growth(scene, series)
        yield from _dropped(scene, series)
    yield from _killed(scene)


def _series(scene: Scene) -> dict[str, Floats]:
    """Resident bytes by process; the page's own figure stands in for the API process where the host is not read."""
    state = scene.state
    found = {p.name: p.rss_bytes for p in state.host.processes} if state.host is not None else {}
    if state.resident_bytes is not None and not any("api" in name.lower() for name in found):
        found["APIServer"] = state.resident_bytes
    return {name: values for name, values in found.items() if np.isfinite(values).sum() >= 2}


def _growth(scene: Scene, series: dict[str, Floats]) -> Evidence:
    found = [g for name, values in series.items() if (g := steady_growth(scene, name, values)) is not None]
    if not found:
        text = Text("no process of the server grows steadily", "没有服务器进程持续增长")
        return scene.evidence("memory.growth", 0.0, "GB/h", -1.0, text)
    worst = max(found, key=lambda g: g.per_s)
    left = _left(scene)
    ends = min(worst.high / worst.per_s, left / worst.per_s if math.isfinite(left) else math.inf)
    text = Text(
        "{name} grew by {rate} a second for {seconds}, from {low} to {high}{ends}",
        "{name} 在 {seconds} 内每秒增长 {rate}，从 {low} 到 {high}{ends}",
    ).format(
        name=worst.name,
        rate=size(worst.per_s),
        seconds=span(worst.seconds),
        low=size(worst.low),
        high=size(worst.high),
        ends=_forecast(worst, left),
    )
    strength = ramp(math.log(ends), math.log(_SLOW_S), math.log(_FAST_S))
    return scene.evidence(
        "memory.growth", 3600 * worst.per_s / 1e9, "GB/h", strength, text, _source(scene), anomaly=strength > 0
    )


def _source(scene: Scene) -> Signal:
    return "host" if scene.state.host is not None else "metrics"


def _forecast(growth: Growth, left: float) -> Text:
    if not math.isfinite(left):
        return Text("", "")
    text = Text("; the host's memory lasts {seconds} more at that rate", "；按此速度主机内存还可维持 {seconds}")
    return text.format(seconds=span(left / growth.per_s))


def _left(scene: Scene) -> float:
    host = scene.state.host
    if host is None or host.mem_available_bytes is None:
        return math.nan
    seen = host.mem_available_bytes[np.isfinite(host.mem_available_bytes)]
    return float(seen[-1]) if len(seen) else math.nan


def steady_growth(scene: Scene, name: str, values: Floats) -> Growth | None:
    """The longest stretch up to a restart or the end in which a process grew in a line; None where none does."""
    stretches = runs(np.asarray(np.isfinite(values) & scene.state.valid))
    # A leak that has begun goes on: only its beginning is looked for.
    starts = [(a + (b - a) * part // _PARTS, b) for a, b in stretches for part in range(_PARTS)]
    found = [growth for a, b in starts if (growth := _line(scene, name, values, a, b)) is not None]
    return max(found, key=lambda g: g.seconds, default=None)


def _line(scene: Scene, name: str, values: Floats, a: int, b: int) -> Growth | None:
    """Growth over the intervals ``a`` to ``b`` if the medians of their thirds rise by equal steps.

    Growth that bends off is a warm-up, one that bends up is flat at first.
    """
    seconds = float(scene.state.t_end[b - 1] - scene.state.t_end[a])
    if b - a < _LEAST_ROWS or seconds < _LEAST_S:
        return None
    first, middle, last = (float(np.median(part)) for part in np.array_split(values[a:b], 3))
    grown = last - first
    if grown < max(_LEAST_BYTES, _LEAST_SHARE * first) or abs(middle - (first + last) / 2) > _BEND * grown:
        return None
    return Growth(name, 1.5 * grown / seconds, float(values[a]), float(values[b - 1]), seconds)


def _dropped(scene: Scene, series: dict[str, Floats]) -> Iterator[Evidence]:
    """Memory before the last restart against that after it."""
    again = np.flatnonzero(~scene.state.valid)
    if not len(again):
        return
    at = int(again[-1])
    before = sum(_last_seen(values[:at]) for values in series.values())
    after = sum(_last_seen(values[at : at + 1]) for values in series.values())
    if not (before > 0 and after > 0):
        return
    text = Text(
        "the restart took the server's processes from {before} to {after}", "重启使服务器进程从 {before} 降到 {after}"
    ).format(before=size(before), after=size(after))
    yield scene.evidence("memory.dropped", before / after, "ratio", ramp(before / after, 1.2, 2.0), text)


def _last_seen(values: Floats) -> float:
    seen = values[np.isfinite(values)]
    return float(seen[-1]) if len(seen) else 0.0


def _killed(scene: Scene) -> Iterator[Evidence]:
    """The kernel's own line, or a worker that ended with its signal 9."""
    if "log" not in scene.state.signals:
        return
    found = [
        e for e in scene.state.events if e.id == "host_out_of_memory" or (e.id == "worker_dead" and e.value == _KILLED)
    ]
    text = Text("the log tells of no process that the kernel killed", "日志中没有被内核杀死的进程")
    if found:
        text = Text(
            "the kernel killed a process for memory (exit code -9), {n:one line|# lines}",
            "内核因内存杀死了进程（退出码 -9），{n} 行",
        ).format(n=len(found))
    times = [e.t - scene.state.start for e in found if e.t is not None]
    onset = scene.onset_at(min(times)) if times else None
    strength = 1.0 if found else -0.3
    yield scene.evidence("log.killed", len(found), "events", strength, text, "log", onset, anomaly=bool(found))

"""The way from the server's host to others: round trips against those of before, and probes that were lost."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.engine_state import Bools
from whystall.model.recording import LinkColumns
from whystall.model.text import Text

from .scene import Scene
from .thresholds import level, ramp
from .wording import span

_RTT = Text(
    "a round trip to {peer} takes {now}, {times:.1f} times {than}",
    "到 {peer} 的往返时间为 {now}，是{than}的 {times:.1f} 倍",
)
_BEFORE, _NEAREST = Text("what it took before", "此前"), Text("that to the nearest other host", "最近的其他主机")
_LOST = Text("{share:.0%} of the probes to {peer} were lost", "到 {peer} 的探测丢失 {share:.0%}")


def link(scene: Scene) -> Iterator[Evidence]:
    """Evidence of the worst of the ways; absent where no daemon probes."""
    links = scene.state.links
    if links is None or not len(links.t):
        return
    inside, before = _rows(scene, links, scene.inside), _rows(scene, links, scene.before)
    if inside.any():
        yield from _round_trips(scene, links, inside, before)
        yield _lost(scene, links, inside)


def _rows(scene: Scene, links: LinkColumns, intervals: Bools) -> Bools:
    at = np.searchsorted(scene.state.t_end, links.t - scene.state.start)
    there: Bools = (links.t >= scene.state.start) & (at < len(intervals))
    found: Bools = there & intervals[np.minimum(at, len(intervals) - 1)]
    return found


def _medians(links: LinkColumns, rows: Bools) -> dict[str, float]:
    """Each peer's median round trip over the rounds, without those from which none came back."""
    found = {}
    for peer in dict.fromkeys(links.peer):
        own = links.rtt_median_s[rows & np.isfinite(links.rtt_median_s) & _of(links, peer)]
        if len(own):
            found[peer] = float(np.median(own))
    return found


def _of(links: LinkColumns, peer: str) -> Bools:
    return np.array([name == peer for name in links.peer])


def _round_trips(scene: Scene, links: LinkColumns, inside: Bools, before: Bools) -> Iterator[Evidence]:
    now, past = _medians(links, inside), _medians(links, before)
    against = {peer: (past[peer], _BEFORE) for peer in now if peer in past}
    if not against:  # all of the window is the incident: the other ways say what is usual
        for peer in now:
            others = [rtt for name, rtt in now.items() if name != peer]
            against |= {peer: (min(others), _NEAREST)} if others else {}
    if not against:
        return
    worst = max(against, key=lambda peer: now[peer] / max(against[peer][0], 1e-6))
    usual, than = against[worst]
    times = now[worst] / max(usual, 1e-6)
    strength = (
        ramp(math.log(times), 0.0, math.log(level("link_slower"))) if now[worst] - usual > level("link_felt") else -0.5
    )
    text = _RTT.format(peer=worst, now=span(now[worst]), times=times, than=than)
    yield scene.evidence("link.rtt", now[worst], "s", strength, text, "host", anomaly=strength >= 1)


def _lost(scene: Scene, links: LinkColumns, inside: Bools) -> Evidence:
    shares = {}
    for peer in dict.fromkeys(links.peer):
        own = inside & _of(links, peer)
        if own.any():
            shares[peer] = float(links.lost[own].sum() / max(links.sent[own].sum(), 1.0))
    worst = max(shares, key=lambda peer: shares[peer])
    strength = ramp(shares[worst], 0.0, level("link_lost")) if shares[worst] > 0 else -0.5
    text = _LOST.format(share=shares[worst], peer=worst)
    return scene.evidence("link.lost", shares[worst], "ratio", strength, text, "host", anomaly=strength >= 1)

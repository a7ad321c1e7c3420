"""What a start brings: another version, a server that is still young, losses that die away."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from whystall.model.diagnosis import Evidence, Onset
from whystall.model.text import Text
from whystall.state.step_cost import edges_of

from .front_end import front_residual
from .scene import Bools, Floats, Scene
from .silence import silences
from .smoothing import runs
from .thresholds import level, ramp

_OFFLOADING = ("kv_offloading_size", "kv_offloading_backend")


_SOON_S = level("baseline_min") + level("episode_gap")
_BACK_S = 60.0  # the usual load is back within a minute


def start(scene: Scene) -> Iterator[Evidence]:
    """Evidence of what changed with a start of the server, and of what a start left behind."""
    yield from _version(scene)
    yield from _young(scene)
    yield from _settles(scene)
    yield from _offloading(scene)


def _versions(scene: Scene) -> list[tuple[float, str]]:
    """(seconds after the window's start, version) of each start that the log tells of."""
    known = [start for start in scene.state.starts if start.begun is not None and start.version]
    return [(start.begun - scene.state.start, start.version) for start in known if start.begun is not None]


def _version(scene: Scene) -> Iterator[Evidence]:
    versions = _versions(scene)
    known, now = scene.known, scene.state.engine.version
    if known is not None and known.version and now and known.version != now:
        text = Text("the version is {now}, {old} in the baseline", "版本为 {now}，基线为 {old}")
        yield scene.evidence(
            "version.changed", 1.0, "starts", 1.2, text.format(now=now, old=known.version), anomaly=True
        )
        return
    if not versions:
        return
    changes = [(t, old, new) for (_, old), (t, new) in pairwise(versions) if old != new]
    if not changes:
        text = Text("the version is {v} throughout", "版本始终为 {v}").format(v=versions[-1][1])
        yield scene.evidence("version.changed", 0.0, "starts", -0.5, text, "log")
        return
    t, old, new = changes[-1]
    text = Text(
        "the server came back as version {new} at {t:span}, {old} before",
        "服务器在 {t:span}以版本 {new} 重启，此前为 {old}",
    )
    gone = next((s.begin for s in silences(scene.state) if s.begin - _SOON_S <= t <= s.end + _SOON_S), t)
    near = gone - _SOON_S <= _begins(scene) <= t + _SOON_S  # the time away for the restart is part of it
    near |= scene.denser_from(gone, t, _BACK_S)
    onset = scene.onset_at(t)
    words = text.format(new=new, old=old, t=t)
    yield scene.evidence("version.changed", len(changes), "starts", 1.5 if near else 0.2, words, "log", onset, near)


def _begins(scene: Scene) -> float:
    """When the incident began: where its steps became slower, if that was seen; else with its first interval."""
    slower: Onset | None = scene.paced.onset if scene.paced is not None else None
    return slower.seconds if slower is not None else float(scene.state.t_start[int(scene.focus.inside.argmax())])


def _young(scene: Scene) -> Iterator[Evidence]:
    """How long the server had been there when the incident began."""
    age = scene.state.process_age_s
    if age is None:
        return
    since = [t for t in scene.state.restarts if t <= _begins(scene)]
    age = _begins(scene) - since[-1] if since else age + _begins(scene)
    text = Text("the server had started {age:span} before", "服务器在此前 {age:span}启动")
    strength = ramp(age, 2 * level("warm_up"), level("warm_up"))
    yield scene.evidence("server.young", age, "s", strength, text.format(age=age))


def _settles(scene: Scene) -> Iterator[Evidence]:
    """The share of the time lost that falls into the first half of what was seen since the incident began.

    For losses that were there from the start, came several times, and were seen for long enough to end: one standstill
    or a wave of prompts lies in one half by chance.
    """
    state = scene.state
    if not scene.focus.hurts or not len(state.dt):
        return
    begin = int(scene.focus.inside.argmax())
    first = float(state.t_start[begin])
    lost = _lost(scene)
    lost[:begin] = 0.0
    early = state.t_end <= (first + state.seconds) / 2
    if not lost.sum() > 0 or not early.any():
        return
    share = float(lost[early].sum() / lost.sum())
    settled = min(share, _share_for_the_work(lost, np.nan_to_num(state.generation_tokens), begin, early))
    text = Text(
        "{share:.0%} of the time lost lies in the first half of the {n:span} since it began",
        "损失时间的 {share:.0%} 落在开始后 {n:span}的前半段",
    )
    long = state.seconds - first >= level("settle_min")
    from_the_start = not scene.before.any() and not scene.surely_slower
    tells = long and from_the_start and len(runs(lost > 0.1 * lost.max())) >= level("settle_times")
    strength = ramp(settled, 0.65, 0.85) if tells else min(ramp(settled, 0.65, 0.85), 0.0)
    words = text.format(share=share, n=state.seconds - first)
    yield scene.evidence("loss.settles", share, "ratio", strength, words)


def _share_for_the_work(lost: Floats, tokens: Floats, begin: int, early: Bools) -> float:
    """The first half's share of the loss where both halves had made as many tokens: less work loses less by itself.

    0 where the second half made none: nothing says how slow it was.
    """
    first, second = tokens[begin:][early[begin:]].sum(), tokens[begin:][~early[begin:]].sum()
    if not second > 0:
        return 0.0
    late = float(lost[~early].sum() / second)
    soon = float(lost[early].sum() / first) if first > 0 else float("inf")
    return soon / (soon + late) if np.isfinite(soon) and soon + late > 0 else 1.0


def _lost(scene: Scene) -> Floats:
    """Seconds lost by interval: between tokens, in gaps that are felt where they make a fifth of the loss, else in all.

    Where most of the loss is no late token, it lies in the queue or the front end.
    """
    itl = scene.state.itl
    lost = np.nan_to_num(itl.sum - scene.usual_itl_s * itl.count).clip(min=0.0)
    if (elsewhere := _lost_elsewhere(scene)) is not None:
        return elsewhere
    lower, upper = edges_of(itl).T
    long = lower >= level("felt_wait")
    if not lost[scene.inside].sum() > 0:
        return _waited(scene)
    felt = np.asarray(np.nan_to_num(itl.counts)[:, long] @ ((lower + upper) / 2)[long], dtype=np.float64)
    return felt if felt[scene.inside].sum() >= level("gain") * lost[scene.inside].sum() else lost


def _lost_elsewhere(scene: Scene) -> Floats | None:
    """Seconds lost before the first token, where that is the loss and tokens come in time for most of it."""
    state, kinds = scene.state, scene.focus.kinds
    tokens = max(kinds.get(kind, 0.0) for kind in ("itl", "stall", "host_gap"))
    if kinds.get("front", 0.0) > 2 * tokens:
        return np.asarray(np.nan_to_num(front_residual(state)).clip(min=0.0) * np.nan_to_num(state.first_tokens))
    if kinds.get("ttft", 0.0) > 2 * max(tokens, kinds.get("queue", 0.0)):
        return np.nan_to_num(state.ttft.sum)
    return _waited(scene) if kinds.get("queue", 0.0) > 2 * tokens else None


def _waited(scene: Scene) -> Floats:
    return np.nan_to_num(scene.state.waiting_end * scene.state.dt)


def _offloading(scene: Scene) -> Iterator[Evidence]:
    """Whether KV blocks may go to the host's memory and come back."""
    flags = scene.state.configuration.flags
    moved = float(np.nansum(scene.state.external_tokens))
    named = [name for name in _OFFLOADING if flags.get(name, "0") not in ("0", "0.0", "", "None")]
    connector = "offload" in flags.get("kv_transfer_config", "").lower()
    if named or connector:
        text = Text("KV blocks are offloaded to the host's memory (--{flag})", "KV 块被卸载到主机内存（--{flag}）")
        flag = (named[0] if named else "kv_transfer_config").replace("_", "-")
        yield scene.evidence("config.kv_offload", max(moved, 1.0), "flag", 1.0, text.format(flag=flag), "config")
    elif flags or "config" in scene.state.signals:
        text = Text("KV blocks are not offloaded", "KV 块没有被卸载")
        yield scene.evidence("config.kv_offload", 0.0, "flag", -1.5, text, "config")

"""This engine against the others of its page: who carries the load, who has room, who steps together."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.engine_state import Floats, Peer
from whystall.model.text import Text

from .scene import Bools, Scene
from .standstill import near_standstill
from .thresholds import level, ramp

_SAME_STEPS = 0.05  # ranks in lockstep make the same number of steps but for the one under way at a scrape
_OWN_STEPS = 0.15  # engines that step alike by chance differ by more over an incident
_OTHER_WORK = 1.5  # with the same work the same steps say nothing


def peers(scene: Scene) -> Iterator[Evidence]:
    """Evidence of the spread over engines; absent for a lone engine."""
    if scene.state.peers:
        yield from _load(scene)
        yield from _room(scene)
        yield from _lockstep(scene)
    yield from _configured(scene)
    yield from _dummies(scene)


def _load(scene: Scene) -> Iterator[Evidence]:
    """Requests, KV blocks and tokens here over the mean of the others; the measure that differs most (incident 074:
    equal counts, five times the tokens). Not around a standstill: what piles up on an engine that stands was sent to it
    evenly."""
    state, at = scene.state, scene.inside & ~near_standstill(scene.state)
    here = {
        "requests": scene.mean((state.running_start + state.running_end) / 2, at) + scene.mean(state.waiting_end, at),
        "kv": 100 * scene.mean(state.kv_usage_end, at),
        "tokens": scene.rate(state.generation_tokens + np.nan_to_num(state.computed_tokens), at) / 100,
    }
    there = [_measures(scene, peer, at) for peer in state.peers]
    spread = {}
    for name, own in here.items():
        others = [one[name] for one in there if math.isfinite(one[name])]
        if others and math.isfinite(own):
            spread[name] = (own + 1.0) / (
                float(np.mean(others)) + 1.0
            )  # one more of each: idle engines divide by nothing
    if not spread:
        return
    most = max(spread, key=lambda name: spread[name])
    text = Text(
        "this engine carries {times:~2} times the {what} that the others do on average ({n})",
        "本引擎的{what}是其余引擎（{n} 个）均值的 {times:~2} 倍",
    ).format(times=spread[most], what=_WHAT[most], n=len(there))
    strength = ramp(math.log(spread[most]), math.log(level("shift")), math.log(2 * level("shift")))
    yield scene.evidence("peers.load", spread[most], "ratio", strength, text, anomaly=strength >= 1)


_WHAT = {
    "requests": Text("requests", "请求数"),
    "kv": Text("KV blocks", "KV 块"),
    "tokens": Text("tokens", "token 数"),
}


def _measures(scene: Scene, peer: Peer, at: Bools) -> dict[str, float]:
    return {
        "requests": scene.mean(peer.running, at) + scene.mean(peer.waiting, at),
        "kv": 100 * scene.mean(peer.kv_usage, at),
        "tokens": scene.rate(peer.tokens + np.nan_to_num(peer.computed), at) / 100,
    }


def _room(scene: Scene) -> Iterator[Evidence]:
    """Another engine could have taken what waits here: no queue there, blocks free, and fewer requests."""
    state = scene.state
    running = (state.running_start + state.running_end) / 2
    shares = []
    for peer in state.peers:
        free = (peer.waiting == 0) & ~(peer.kv_usage > level("kv_wall") - 0.1) & (peer.running < running / 1.5)
        shares.append((scene.share(np.asarray(free)), peer.id))
    best, name = max(shares)
    if not math.isfinite(best):
        return
    text = Text(
        "engine {name} had no queue, free blocks and fewer requests in {best:.0%} of that time",
        "引擎 {name} 在 {best:.0%} 的时间里没有排队、有空闲块且请求更少",
    ).format(name=name, best=best)
    yield scene.evidence("peers.room", best, "ratio", ramp(best, 0.2, 0.7), text)


def _lockstep(scene: Scene) -> Iterator[Evidence]:
    """The same number of steps over different work: all ranks wait for the one with the most."""
    state = scene.state
    own = scene.rate(state.steps), _work(scene, state.generation_tokens, state.computed_tokens)
    found = []
    for peer in state.peers:
        steps, work = scene.rate(peer.steps), _work(scene, peer.tokens, peer.computed)
        if all(value > 0 for value in (*own, steps, work)):
            found.append((math.log(steps / own[0]), math.log(work / own[1]), peer.id))
    if not found:
        return
    steps, work, name = max(found, key=lambda pair: (abs(pair[0]) <= _SAME_STEPS, abs(pair[1])))
    text = Text(
        "engine {name} makes {steps:.2f} times the steps of this one, over {work:.2f} times the tokens",
        "引擎 {name} 的步数是本引擎的 {steps:.2f} 倍，token 数是 {work:.2f} 倍",
    ).format(name=name, steps=math.exp(steps), work=math.exp(work))
    together = ramp(abs(steps), _OWN_STEPS, _SAME_STEPS)
    strength = min(together, ramp(abs(work), 0.0, math.log(_OTHER_WORK))) if together > 0 else together
    yield scene.evidence("peers.lockstep", math.exp(abs(work)), "ratio", strength, text)


def _work(scene: Scene, tokens: Floats, computed: Floats) -> float:
    return scene.rate(tokens + np.nan_to_num(computed))


def _configured(scene: Scene) -> Iterator[Evidence]:
    """Experts are exchanged over data-parallel ranks at every layer, so those ranks must step together (vllm.md 5.4)."""
    configuration = scene.state.configuration
    ranks = configuration.data_parallel
    if ranks is None:
        return
    experts = configuration.flags.get("enable_expert_parallel", "").lower() in ("true", "1")
    text = Text("data-parallel ranks: {ranks}{experts}", "数据并行 rank 数：{ranks}{experts}").format(
        ranks=ranks, experts=Text(", experts spread over them", "，专家分布其上") if experts else Text("", "")
    )
    strength = -1.5 if ranks < 2 else 1.0 if experts else 0.3
    yield scene.evidence("config.lockstep", float(ranks), "ranks", strength, text, "config")


def _dummies(scene: Scene) -> Iterator[Evidence]:
    """Steps without work of their own, which only keep up with other ranks (``--enable-logging-iteration-details``)."""
    steps = scene.state.iterations
    if steps is None or steps.dummy is None or not len(steps.dummy):
        return
    share = float(steps.dummy.mean())
    text = Text(
        "{share:.0%} of the logged steps were dummies that only kept up with other ranks",
        "记录的步中有 {share:.0%} 是只为跟上其他 rank 的空步",
    ).format(share=share)
    yield scene.evidence("steps.dummy", share, "ratio", ramp(share, 0.02, 0.2) if share else -0.3, text, "log")

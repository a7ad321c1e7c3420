"""Whether the ranks of a model wait in collectives, all of them or all for one: from a trace, else from their GPUs' draw."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.engine_state import GpuState
from whystall.model.text import Text
from whystall.state.step_cost import non_negative

from .quotient import quotient
from .scene import Bools, Floats, Scene
from .thresholds import level, ramp
from .trace import trace

_FROM_TRACE = {"trace.exposed_collectives": "ranks.wait", "trace.skew": "ranks.apart"}


_SIGMAS = 2.0  # 95%


def ranks(scene: Scene) -> Iterator[Evidence]:
    """Evidence of ranks that wait, and of the one they wait for. A trace sees both; power and clocks hint at them."""
    seen = {_FROM_TRACE[found.id]: found for found in trace(scene) if found.id in _FROM_TRACE}
    yield from (msgspec.structs.replace(found, id=name) for name, found in seen.items())
    yield from _parallel(scene)
    state = scene.state.gpu
    if state is None or not scene.focus.hurts or (scene.state.configuration.tensor_parallel or 1) < 2:
        return
    if "ranks.wait" not in seen:
        yield from _waiting(scene, state)
    if "ranks.apart" not in seen:
        yield from _uneven(scene, state)


def _parallel(scene: Scene) -> Iterator[Evidence]:
    """Over how many GPUs a model is spread: on one there is nobody to wait for."""
    parallel = scene.state.configuration.tensor_parallel
    if parallel is None:
        return
    text = Text("the model is spread over {n} GPUs", "模型分布在 {n} 个 GPU 上")
    one = Text("the model runs on one GPU", "模型运行在一个 GPU 上")
    words = text.format(n=parallel) if parallel > 1 else one
    yield scene.evidence("config.ranks", parallel, "GPUs", 1.0 if parallel > 1 else -1.5, words, "config")


def _waiting(scene: Scene, state: GpuState) -> Iterator[Evidence]:
    """Power at full use against the healthy past: ranks that wait in a collective spin, which counts as use but draws less.

    At equal work, for more work draws more: against what the past's own power let expect of as many tokens.
    """
    if not scene.before.any():
        return
    full = _in_use(scene, state)
    line = _expected(scene, state, full)
    at = scene.inside if line is None else full
    use, before = scene.mean(state.util_ratio, at), scene.mean(state.util_ratio, scene.before)
    power, past = scene.mean(state.power_w, at), scene.mean(state.power_w, scene.before)
    if not all(map(math.isfinite, (use, before, power, past))) or not min(use, before) > 0:
        return
    tokens = scene.rate(scene.state.computed_tokens) / max(scene.rate(scene.state.computed_tokens, scene.before), 1e-9)
    expected, doubt = line or (past, math.nan)
    fell, surely = 1 - quotient(power, expected), 1 - quotient(power, expected - doubt)
    text = Text(
        "the GPUs are in use {use:.0%} of the time and draw {power:.0f} W, {past:.0f} W before; "
        "{tokens:as many prompt tokens are|# times the prompt tokens are} computed{expected}",
        "GPU 有 {use:.0%} 的时间在用，功率 {power:.0f} W，此前 {past:.0f} W；"
        "计算的提示 token 为此前的 {tokens:~2} 倍{expected}",
    )
    strength = ramp(fell, level("power_fell") / 3, level("power_fell")) if use > level("stepping") else -0.5
    if math.isfinite(doubt):
        strength = strength if surely > level("power_fell") / 3 else min(strength, 0.2)
    else:
        strength = min(strength, 0.2) if tokens < 1 - level("gain") else strength  # less work draws less, too
    lets = Text(", for which {watts:.0f} W are to be expected", "，按此应为 {watts:.0f} W").format(watts=expected)
    words = text.format(
        use=use, power=power, past=past, tokens=tokens, expected=lets if math.isfinite(doubt) else Text("", "")
    )
    yield scene.evidence("ranks.wait", fell, "ratio", strength, words, "gpu")


def _in_use(scene: Scene, state: GpuState) -> Bools:
    """The intervals of the incident in which the GPUs are in use all the time, where they are what is worth naming of it.

    An idle GPU draws less, whatever the ranks do.
    """
    full = scene.inside & (state.util_ratio >= 1 - level("power_fell") / 3)
    return full if scene.share(full) >= level("gain") else scene.inside


def _expected(scene: Scene, state: GpuState, at: Bools) -> tuple[float, float] | None:
    """Watts to be expected of the tokens of the intervals ``at``, by a line through the past's intervals at full use, and
    two standard errors of it. None where these are too few, or where tokens that are other than then did not vary then.
    """
    past = scene.before & (state.util_ratio >= 1 - level("power_fell") / 3) & np.isfinite(state.power_w)
    if past.sum() < level("residual_rows"):
        return None
    rates = np.column_stack([np.nan_to_num(c) for c in (scene.state.computed_tokens, scene.state.generation_tokens)])
    rates = rates / scene.state.dt[:, None]
    usual, spread, now = rates[past].mean(axis=0), rates[past].std(axis=0), rates[at].mean(axis=0)
    varied = spread > level("shape_spread") * usual
    if (~varied & (np.abs(now - usual) > level("gain") * usual)).any():
        return None
    work = np.column_stack((np.ones(len(rates)), rates[:, varied] / np.maximum(usual[varied], 1e-9)))
    watts = non_negative(work[past], state.power_w[past])
    point, off = work[at].mean(axis=0), float((state.power_w[past] - work[past] @ watts).std())
    doubt = off * math.sqrt(float(point @ np.linalg.pinv(work[past].T @ work[past]) @ point))
    return float(point @ watts), _SIGMAS * doubt


def _uneven(scene: Scene, state: GpuState) -> Iterator[Evidence]:
    """One rank's power or clock apart from the others': they do the same work, so it is the one they wait for."""
    spread = [
        (kind, *found)
        for kind, columns in (("power", state.device_power_w), ("clock", state.device_clock_hz))
        if columns is not None and (found := _odd_one(scene, columns)) is not None
    ]
    if not spread:
        return
    kind, apart, device_ = max(spread, key=lambda one: one[1])
    name = Text("power", "功率") if kind == "power" else Text("SM clock", "SM 时钟")
    text = Text(
        "GPU {device}'s {name} is {apart:.0%} away from the other ranks', {before:.0%} before",
        "GPU {device} 的{name}与其他 rank 相差 {apart:.0%}，此前 {before:.0%}",
    )
    columns = state.device_power_w if kind == "power" else state.device_clock_hz
    past = _odd_one(scene, columns, before=True) if columns is not None else None
    usual = past[0] if past is not None else 0.0
    strength = ramp(apart - usual, level("rank_apart") / 3, level("rank_apart"))
    words = text.format(device=device_, name=name, apart=apart, before=usual)
    yield scene.evidence("ranks.apart", apart, "ratio", strength, words, "gpu")


def _odd_one(scene: Scene, columns: Floats, *, before: bool = False) -> tuple[float, int] | None:
    """(share by which the device that stands out differs from the others' median, its number); None below two devices."""
    at = scene.before if before else scene.inside
    if columns.shape[1] < 2 or not at.any():
        return None
    means = np.array([scene.mean(columns[:, d], at) for d in range(columns.shape[1])])
    if not np.isfinite(means).all() or not means.min() > 0:
        return None
    others = np.array([np.median(np.delete(means, d)) for d in range(len(means))])
    apart = np.abs(means / others - 1)
    return float(apart.max()), int(apart.argmax())

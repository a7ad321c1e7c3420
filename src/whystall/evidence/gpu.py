"""The GPU's clock and power, and whether the work follows them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence, Signal
from whystall.model.engine_state import GpuState
from whystall.model.text import Text

from .devices import device
from .quotient import quotient
from .scene import Scene
from .symptoms import HARD_THROTTLE
from .thresholds import level, ramp

_REASONS = {
    0x8: Text("hardware slowdown", "硬件降频"),
    0x20: Text("heat (software)", "过热（软件）"),
    0x40: Text("heat (hardware)", "过热（硬件）"),
    0x80: Text("power brake", "供电制动"),
}


_POWER_CAP = 0x4  # the software's power cap: no fault, and only a loss where the work follows the clock


def gpu(scene: Scene) -> Iterator[Evidence]:
    """Evidence that the clock is held down, by what, and that throughput follows it."""
    state = scene.state.gpu
    if state is None:
        return
    yield from _held_down(scene, state)
    yield from _lowered_cap(scene, state)
    yield from _follows(scene, state)
    yield from _memory(scene, state)


def _held_down(scene: Scene, state: GpuState) -> Iterator[Evidence]:
    held = (state.throttle_bits > 0) & ((state.throttle_bits & HARD_THROTTLE) != 0)
    share = scene.share(held)
    clock = quotient(scene.mean(state.sm_clock_hz), state.max_clock_hz)
    if not math.isfinite(share) or not math.isfinite(clock):
        return
    seen = int(np.bitwise_or.reduce(state.throttle_bits[scene.inside & held])) if held[scene.inside].any() else 0
    why = [reason for bit, reason in _REASONS.items() if seen & bit]
    named = Text(", ".join(r.en for r in why) or "none", "、".join(r.zh for r in why) or "无")
    text = Text(
        "the SM clock runs at {clock:.0%} of its highest; held down {share:.0%} of the time by: {why}",
        "SM 时钟为最高值的 {clock:.0%}；{share:.0%} 的时间被压低，原因：{why}",
    )
    capped = scene.share((state.throttle_bits > 0) & ((state.throttle_bits & _POWER_CAP) != 0))
    text = text if seen else _free_clock(capped)
    strength = min(
        ramp(share, level("throttle_share") / 2, 2 * level("throttle_share")), ramp(clock, 0.97, level("clock_low"))
    )
    yield scene.evidence(
        "gpu.held_down",
        share,
        "ratio",
        strength,
        text.format(clock=clock, share=share, why=named, capped=capped),
        "gpu",
    )


def _free_clock(capped: float) -> Text:
    """For a clock that neither heat nor hardware holds down; ``capped`` is the power cap's share of the time."""
    if capped > level("throttle_share") / 2:
        return Text(
            "the SM clock runs at {clock:.0%} of its highest, held by the power cap {capped:.0%} of the time, "
            "and neither by heat nor by hardware",
            "SM 时钟为最高值的 {clock:.0%}；{capped:.0%} 的时间受功率上限约束，没有过热或硬件降频",
        )
    return Text(
        "the SM clock runs at {clock:.0%} of its highest; neither heat nor hardware holds it down",
        "SM 时钟为最高值的 {clock:.0%}；没有过热或硬件降频",
    )


def _lowered_cap(scene: Scene, state: GpuState) -> Iterator[Evidence]:
    """A power limit well under the board's rating, at which the GPU runs."""
    sheet, limit = device(state.name), scene.mean(state.power_limit_w)
    if sheet is None or not math.isfinite(limit):
        return
    share = limit / sheet.power_w
    load = quotient(scene.mean(state.power_w), limit)
    text = Text(
        "the power limit is {limit:.0f} W, {share:.0%} of the {name}'s rating, and the GPU draws {load:.0%} of it",
        "功率上限为 {limit:.0f} W，是 {name} 额定值的 {share:.0%}，GPU 已用到其 {load:.0%}",
    )
    # The board's own limit says nothing against other reasons for a low clock.
    strength = max(0.0, min(ramp(share, 1.0, level("cap_lowered")), ramp(load, 0.8, level("power_full"))))
    words = text.format(limit=limit, share=share, name=sheet.match, load=load)
    yield scene.evidence("gpu.cap_lowered", share, "ratio", strength, words, "gpu")


def _follows(scene: Scene, state: GpuState) -> Iterator[Evidence]:
    """Does the step time move against the clock at equal work: the slope of log step time on -log clock.

    A cap that is active costs nothing while memory bounds the step (case 027); where the slope is near 1 it costs all.
    """
    s = scene.state
    with np.errstate(invalid="ignore", divide="ignore"):
        step = np.log(s.dt / s.steps)
        work = np.log((np.nan_to_num(s.computed_tokens) + s.generation_tokens) / s.steps)
        clock = np.log(state.sm_clock_hz / state.max_clock_hz)
    ok = s.valid & np.isfinite(step) & np.isfinite(work) & np.isfinite(clock) & (scene.before | scene.inside)
    if ok.sum() < 10 or np.ptp(clock[ok]) < -math.log(level("clock_low")):
        return
    design = np.stack([np.ones(ok.sum()), work[ok], -clock[ok]], axis=1)
    slope = float(np.linalg.lstsq(design, step[ok], rcond=None)[0][2])
    fit = design @ np.linalg.lstsq(design, step[ok], rcond=None)[0]
    plain = design[:, :2] @ np.linalg.lstsq(design[:, :2], step[ok], rcond=None)[0]
    gain = 1 - float(((step[ok] - fit) ** 2).sum() / max(((step[ok] - plain) ** 2).sum(), 1e-12))
    text = Text(
        "at equal work a step slows {slope:.1f}% for each percent of clock lost (explains {gain:.0%} of the spread)",
        "同等工作量下时钟每降 1%，步时增加 {slope:.1f}%（解释了 {gain:.0%} 的离散）",
    )
    strength = min(ramp(slope, 0.3, 0.8), ramp(gain, 0.1, 0.4))
    yield scene.evidence("gpu.step_follows_clock", slope, "ratio", strength, text.format(slope=slope, gain=gain), "gpu")


def _memory(scene: Scene, state: GpuState) -> Iterator[Evidence]:
    """Whether the memory is what works: the bandwidth that a trace saw, else the share of the time it is read or written."""
    reached = scene.trace.memory_bandwidth_ratio if scene.trace is not None else None
    busy = scene.mean(state.mem_util_ratio) if reached is None else reached
    if not math.isfinite(busy):
        return
    text = Text("the GPU's memory is busy {busy:.0%} of the time", "GPU 显存有 {busy:.0%} 的时间忙碌")
    if reached is not None:
        text = Text("kernels reach {busy:.0%} of the memory's bandwidth", "内核达到显存带宽的 {busy:.0%}")
    strength = ramp(busy, level("memory_busy") - 0.25, level("memory_busy"))
    source: Signal = "gpu" if reached is None else "trace"
    yield scene.evidence("gpu.memory_busy", busy, "ratio", strength, text.format(busy=busy), source)

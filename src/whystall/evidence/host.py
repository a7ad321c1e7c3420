"""The machine around the GPU: cores of each process, quotas, waiting for a CPU."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .front_end import front_residual, step_wait
from .scene import Scene
from .thresholds import level, ramp
from .wording import span


def host(scene: Scene) -> Iterator[Evidence]:
    """Evidence of processes that fill their core, or that want one and do not get it."""
    yield from _api_core(scene)
    yield from _starved_api(scene)
    if scene.state.host is not None:
        yield from _engine_core(scene)
        yield from _throttled(scene)
        yield from _run_delay(scene)
        yield from _pressure(scene)
        yield from _crowded(scene)


def _api_core(scene: Scene) -> Iterator[Evidence]:
    cores = _api_cores(scene)
    if not math.isfinite(cores):
        return
    text = Text("the API process uses {cores:.2f} of its one core", "API 进程使用了 {cores:.2f} 个核（上限 1 个）")
    strength = ramp(cores, level("core_full") - 0.3, level("core_full"))
    yield scene.evidence("api.core", cores, "cores", strength, text.format(cores=cores))


def _api_cores(scene: Scene) -> float:
    """Cores of the API process while requests run: while none do, whatever it does costs nobody."""
    running = scene.inside & (scene.state.running_end > 0)
    return scene.mean(scene.state.api_cores, running if running.any() else None)


def _starved_api(scene: Scene) -> Iterator[Evidence]:
    """Work waits in the front end although its process does not fill a core: it waits for one.

    A front end that is itself the limit fills its core; one that is slow at half a core shares it.
    """
    cores = _api_cores(scene)
    residual = front_residual(scene.state)[scene.inside]
    residual = residual[np.isfinite(residual)]
    if not math.isfinite(cores) or not len(residual):
        return
    delay = max(float(np.median(residual)), 0.0)
    text = Text(
        "requests spend {delay} in the front end, whose process uses {cores:.2f} of a core",
        "请求在前端花费 {delay}，其进程使用了 {cores:.2f} 个核",
    )
    # A request that comes while a step runs waits for its end, and for the one that is ready behind it: of less than two
    # such steps nobody can tell whose time it is. Arrivals meet the long ones more often than the short ones.
    waits = step_wait(scene.state)[scene.inside]
    step = 2 * float(np.nanmedian(waits)) if np.isfinite(waits).any() else 0.0
    felt = max(level("felt_wait"), 2 * step)
    slow = ramp(delay, felt / 2, felt)
    strength = min(slow, ramp(cores, level("core_full"), level("core_full") - 0.2))
    # Where the kernel counts that some process of the server waits for a core, it need not be this one.
    if scene.state.host is not None and scene.mean(scene.state.host.run_delay_ratio) > level("run_delay"):
        strength = max(strength, 0.0)
    yield scene.evidence("cpu.wanted", cores, "cores", strength, text.format(delay=span(delay), cores=cores))


def _engine_core(scene: Scene) -> Iterator[Evidence]:
    assert scene.state.host is not None
    cores = scene.mean(scene.state.host.engine_cores, scene.inside & (scene.state.running_end > 0))
    if not math.isfinite(cores):
        return
    text = Text("the engine's process uses {cores:.2f} of its one core", "引擎进程使用了 {cores:.2f} 个核（上限 1 个）")
    strength = ramp(cores, level("core_full") - 0.3, level("core_full"))
    words = text.format(cores=cores)
    if strength > 0 and (polls := _polls(scene)) is not None:
        strength, words = 0.0, polls.format(cores=cores)
    yield scene.evidence("engine.core", cores, "cores", strength, words, "host")


def _polls(scene: Scene) -> Text | None:
    """What to say where the loop fills its core because it polls for the end of short steps (seen on an H200: 1.03 cores
    beside a GPU that is busy 97%, with steps of 5 ms; 0.3 with steps of 20 ms). None where the GPU has time left.
    """
    gpu = scene.state.gpu
    busy = scene.mean(gpu.util_ratio, scene.inside & (scene.state.running_end > 0)) if gpu is not None else math.nan
    if not busy > 1 - level("gain"):
        return None
    return Text(
        f"the engine's process uses {{cores:.2f}} of its one core, as it polls for a GPU that is busy {busy:.0%}",
        f"引擎进程使用了 {{cores:.2f}} 个核：GPU 忙碌 {busy:.0%}，它在轮询等待",
    )


def _throttled(scene: Scene) -> Iterator[Evidence]:
    assert scene.state.host is not None
    ratio = scene.mean(scene.state.host.throttled_ratio)
    if not math.isfinite(ratio):
        return
    quota = scene.state.host.cpu_quota
    text = Text(
        "the cgroup's CPU quota{quota} stopped the server {ratio:.1%} of the time{periods}",
        "cgroup 的 CPU 配额{quota}使服务器停顿了 {ratio:.1%} 的时间{periods}",
    )
    named = Text(f" of {quota:g} cores", f"（{quota:g} 核）") if quota else Text("", "")
    strength = ramp(ratio, level("throttled") / 2, 2 * level("throttled"))
    words = text.format(quota=named, ratio=ratio, periods=_periods(scene))
    yield scene.evidence("cpu.throttled", ratio, "ratio", strength, words, "host")


def _periods(scene: Scene) -> Text:
    """The share of the scheduling periods that ended in a pause, as ``cpu.stat`` counts them."""
    assert scene.state.host is not None
    column = scene.state.host.throttled_periods_ratio
    share = math.nan if column is None else scene.mean(column)
    if not math.isfinite(share):
        return Text("", "")
    return Text(", in {share:.0%} of its periods", "，占其周期的 {share:.0%}").format(share=share)


def _run_delay(scene: Scene) -> Iterator[Evidence]:
    assert scene.state.host is not None
    ratio = scene.mean(scene.state.host.run_delay_ratio)
    if not math.isfinite(ratio):
        return
    text = Text(
        "the server's processes were ready but without a CPU {ratio:.2f} s of every second{most}",
        "服务器进程每秒有 {ratio:.2f} 秒就绪却得不到 CPU{most}",
    )
    strength = ramp(ratio, level("run_delay") / 2, 2 * level("run_delay"))
    words = text.format(ratio=ratio, most=_waits_most(scene))
    yield scene.evidence("cpu.run_delay", ratio, "s/s", strength, words, "host")


def _waits_most(scene: Scene) -> Text:
    """The process that waits longest for a core, with the CPU that it gets."""
    assert scene.state.host is not None
    each = (
        (scene.mean(process.run_delay_ratio), process.name, scene.mean(process.cores))
        for process in scene.state.host.processes
    )
    found = [one for one in each if math.isfinite(one[0]) and math.isfinite(one[2])]
    if len(found) < 2:
        return Text("", "")
    delay, name, cores = max(found, key=lambda one: one[0])
    text = Text(
        "; most of it {name}: {delay:.2f} s, at {cores:.2f} cores",
        "；最多的是 {name}：{delay:.2f} 秒，用 {cores:.2f} 个核",
    )
    return text.format(name=name, delay=delay, cores=cores)


def _pressure(scene: Scene) -> Iterator[Evidence]:
    """The kernel's own count of the time in which some task of the host waited for a CPU (``/proc/pressure/cpu``).

    It counts strangers' tasks, too, so it speaks only where users lose, and its absence speaks weakly.
    """
    assert scene.state.host is not None
    ratio = scene.mean(scene.state.host.psi_cpu_ratio)
    if not math.isfinite(ratio):
        return
    text = Text(
        "some task of the host waited for a CPU {ratio:.0%} of the time", "主机有 {ratio:.0%} 的时间存在任务等待 CPU"
    ).format(ratio=ratio)
    strength = max(-0.3, ramp(ratio, level("run_delay") / 2, 2 * level("run_delay")))
    yield scene.evidence(
        "cpu.pressure", ratio, "ratio", strength if scene.focus.hurts else min(strength, 0.0), text, "host"
    )


def _crowded(scene: Scene) -> Iterator[Evidence]:
    """All cores busy counts only where users lose by it: strangers' load that nobody feels is none of our business."""
    host_ = scene.state.host
    assert host_ is not None
    busy, load = scene.mean(host_.busy_ratio), scene.mean(host_.load_per_cpu)
    if not (math.isfinite(busy) and math.isfinite(load)):
        return
    text = Text(
        "the host's cores are {busy:.0%} busy, {load:.1f} tasks runnable for each",
        "主机各核繁忙 {busy:.0%}，每核 {load:.1f} 个可运行任务",
    )
    # Idle cores elsewhere are no comfort under a quota or a mask, so they speak against only weakly.
    strength = max(-0.3, min(ramp(busy, level("host_busy") - 0.1, level("host_busy")), ramp(load, 1.0, 2.0)))
    allowed = host_.allowed_cpus
    if allowed is not None and host_.cpus and allowed < min(host_.cpus, 2):
        text = Text(
            "the server's processes share {allowed} core of the host's {cpus}",
            "服务器各进程共用主机 {cpus} 个核中的 {allowed} 个",
        ).format(allowed=allowed, cpus=host_.cpus)
        strength = max(strength, 1.0)
    if not scene.focus.hurts:
        strength = min(strength, 0.0)
    yield scene.evidence("cpu.crowded", busy, "ratio", strength, text.format(busy=busy, load=load), "host")

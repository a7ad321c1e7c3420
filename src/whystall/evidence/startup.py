"""Evidence on a server that gives no page: how long, and what its start says of it."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.configuration import LogEvent, Start
from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .silence import Silence, longest_silence
from .thresholds import level, ramp
from .wording import span

_AWAY = {
    "start": Text("nothing answered for the first {seconds}", "最初 {seconds} 内没有任何响应"),
    "gap": Text("the server was away for {seconds} and started anew", "服务器消失了 {seconds} 后重新启动"),
    "end": Text("nothing has answered for the last {seconds}", "最后 {seconds} 内没有任何响应"),
}
# The lines that name why a start failed, the most telling first (vllm.md 2.4).
_ROOTS = {
    "no_kv_memory": Text("no memory was left for the KV cache", "没有剩余显存给 KV 缓存"),
    "model_len_does_not_fit": Text(
        "one request of the full length does not fit into the KV cache", "KV 缓存放不下一个最大长度的请求"
    ),
    "gpu_memory_taken": Text("another process holds the GPU's memory", "GPU 显存被其他进程占用"),
    "out_of_memory": Text("the GPU's memory ran out", "显存不足"),
    "engine_start_failed": Text("the engine's process failed to start", "引擎进程启动失败"),
}
_START_S = (20.0, 60.0)  # a start from a warm cache takes some 20 s, one that reads tens of gigabytes a minute
_NEAR_S = 15.0  # a process that is gone has written its last lines somewhat before


def startup(scene: Scene) -> Iterator[Evidence]:
    """Evidence of a server that is away, still starting, or failed to start."""
    away = longest_silence(scene.state)
    if away is not None or "metrics" in scene.state.signals:
        yield _away(scene, away)
    if away is not None:
        yield _back(scene, away)
    if away is not None and away.where == "start":
        yield from _fresh(scene)
    if "log" in scene.state.signals:
        yield _failed(scene, away)
        if away is not None:
            yield from _loading(scene, away)


def _away(scene: Scene, away: Silence | None) -> Evidence:
    if away is None:
        text = Text("the server answered whenever it was asked", "每次询问服务器都有响应")
        return scene.evidence("server.away", 0.0, "s", -1.0, text)
    text = _AWAY[away.where].format(seconds=span(away.seconds))
    strength = ramp(away.seconds, 0.0, 2 * level("episode_min"))
    onset = None if away.where == "start" else scene.onset_at(away.begin)
    return scene.evidence("server.away", away.seconds, "s", strength, text, onset=onset, anomaly=True)


def _back(scene: Scene, away: Silence) -> Evidence:
    """Whether it answers again, after longer than a process takes that has its weights at hand.

    Of a time before the first page nobody knows whether it was there.
    """
    if away.where != "gap":
        text = Text("it was not seen to come back", "未观察到其恢复")
        return scene.evidence("server.back", 0.0, "s", 0.0, text)
    text = Text("it answered again after {seconds}", "{seconds} 后重新响应").format(seconds=span(away.seconds))
    return scene.evidence("server.back", away.seconds, "s", max(ramp(away.seconds, *_START_S), 0.0), text)


def _fresh(scene: Scene) -> Iterator[Evidence]:
    """Counters that begin at zero are those of an engine that has just started; others went on while nobody saw them."""
    served = scene.state.served_tokens
    if served is None:
        return
    text = Text(
        "at its first page the engine had served nothing yet: it was starting",
        "首个指标页面时引擎尚未服务过任何请求：它正在启动",
    )
    if served > 0:
        text = Text(
            "at its first page the engine had served {n:one token|# tokens}: it had been running before",
            "首个指标页面时引擎已生成 {n:.0f} 个 token：此前就在运行",
        ).format(n=served)
    yield scene.evidence("startup.fresh", served, "tokens", -1.0 if served > 0 else 1.0, text)


def _failed(scene: Scene, away: Silence | None) -> Evidence:
    state = scene.state
    found = [e for e in state.events if e.id in _ROOTS and _at_a_start(scene, e)]
    if not found:
        text = Text("the log tells of no start that failed", "日志中没有启动失败的记录")
        return scene.evidence("startup.failed", 0.0, "events", -0.1, text, "log")
    root = min(found, key=lambda e: list(_ROOTS).index(e.id))
    times = [e.t - state.start for e in found if e.t is not None]
    text = Text("the log says that a start failed: {root}", "日志显示启动失败：{root}").format(root=_ROOTS[root.id])
    last = max(times, default=0.0)
    near = away is not None and away.begin - _NEAR_S <= last <= away.end + _NEAR_S
    onset = scene.onset_at(min(times)) if times else None
    strength = 1.5 if near or not times else 0.3
    return scene.evidence("startup.failed", len(found), "events", strength, text, "log", onset, anomaly=near)


def _at_a_start(scene: Scene, event: LogEvent) -> bool:
    """Memory may run out while serving, too: that is no failed start. The other lines are written at a start only."""
    if event.id != "out_of_memory":
        return True
    last = next((s for s in reversed(scene.state.starts) if s.begun is not None and _before(s.begun, event.t)), None)
    return last is not None and (last.ready is None or not _before(last.ready, event.t))


def _before(t: float, other: float | None) -> bool:
    return other is None or t <= other


def _loading(scene: Scene, away: Silence) -> Iterator[Evidence]:
    """Seconds of the silence that reading weights and compiling took, by the log."""
    start = _start_of(scene, away)
    if start is None:
        return
    if start.ready is None and start.begun is not None:
        yield _still(scene, away, start)
        return
    took = (start.loading_s or 0.0) + (start.compile_s or 0.0)
    if not took > 0:
        return
    text = Text(
        "of that start, reading the weights{rate} took {loading} and compiling {compiling}",
        "该次启动中，读取权重{rate}用了 {loading}，编译用了 {compiling}",
    ).format(rate=_rate(start), loading=span(start.loading_s or 0.0), compiling=span(start.compile_s or 0.0))
    strength = min(ramp(took / away.seconds, 0.2, 0.5), ramp(took, level("episode_min"), level("hang_min")))
    yield scene.evidence("startup.loading", took, "s", strength, text, "log")


def _still(scene: Scene, away: Silence, start: Start) -> Evidence:
    assert start.begun is not None
    so_far = away.end - (start.begun - scene.state.start)
    text = Text(
        "a start that began {seconds} ago is not ready; the log's last word is: {phase}",
        "{seconds}前开始的启动尚未就绪；日志最后提到：{phase}",
    ).format(seconds=span(so_far), phase=_PHASE.get(start.phase, _PHASE[""]))
    return scene.evidence("startup.loading", so_far, "s", ramp(so_far, 0.0, level("hang_min")), text, "log")


_PHASE = {
    "": Text("it begins", "刚开始"),
    "load": Text("the weights are read", "正在读取权重"),
    "profile": Text("the weights are read, memory is profiled", "权重已读取，正在分析显存"),
    "compile": Text("the model is compiled", "正在编译模型"),
    "capture": Text("CUDA graphs are captured", "正在捕获 CUDA graph"),
    "warm-up": Text("it warms up", "正在预热"),
}


def _start_of(scene: Scene, away: Silence) -> Start | None:
    """The last start of the log that falls into the silence: it began in it, or was ready in it or just after."""
    state = scene.state
    for start in reversed(state.starts):
        moments = [t - state.start for t in (start.begun, start.ready) if t is not None]
        if any(away.begin - _NEAR_S <= t <= away.end + _NEAR_S for t in moments):
            return start
    return None


def _rate(start: Start) -> Text:
    if not (start.weights_bytes and start.loading_s):
        return Text("", "")
    speed = start.weights_bytes / start.loading_s / 1e9
    return Text(" at {speed:~2} GB/s", "（{speed:~2} GB/s）").format(speed=speed)

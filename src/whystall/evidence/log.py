"""What the server's log and its configuration say happened."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.diagnosis import Evidence
from whystall.model.text import Text

from .scene import Scene
from .smoothing import runs
from .standstill import frozen_tokens, stalled

# A profiler flushes after its last step, so the standstill may begin some seconds after the line.
_NEAR_S = 15.0


def log(scene: Scene) -> Iterator[Evidence]:
    """Evidence from log events and from flags."""
    yield from _profiler(scene)
    yield from _eager(scene)
    yield from _warned(scene)


_WARNINGS = {
    "token_budget_exceeds": Text(
        "the token budget is larger than all seats at full length need", "token 预算大于所有席位满长所需"
    ),
    "async_scheduling_off": Text("asynchronous scheduling is off", "异步调度已关闭"),
    "max_model_len_reduced": Text("the longest length was cut to what fits", "最大长度被缩减到可容纳的值"),
    "enforce_eager": Text("CUDA graphs are off", "CUDA graph 已关闭"),
}


def _warned(scene: Scene) -> Iterator[Evidence]:
    """What the last start warned of, for the reader: none of it binds by itself."""
    last = scene.state.starts[-1] if scene.state.starts else None
    known = [_WARNINGS[id] for id in last.warned] if last is not None else []
    if not known:
        return
    named = Text("; ".join(t.en for t in known), "；".join(t.zh for t in known))
    text = Text("the last start warned: {named}", "最近一次启动的警告：{named}").format(named=named)
    yield scene.evidence("log.start_warned", len(known), "lines", 0.0, text, "log")


def _profiler(scene: Scene) -> Iterator[Evidence]:
    state = scene.state
    events = [
        e for e in state.events if e.id in ("profiler_start", "profiler_stopping", "profiler_stop") and e.t is not None
    ]
    if "log" not in state.signals:
        return
    if not events:
        yield scene.evidence(
            "log.profiler", 0.0, "events", -1.0, Text("the log shows no profiler window", "日志中没有分析器窗口"), "log"
        )
        return
    first = min(e.t - state.start for e in events if e.t is not None)
    last = max(e.t - state.start for e in events if e.t is not None)
    stalls = [
        (float(state.t_start[a]), float(state.t_end[b - 1])) for a, b in runs(stalled(state) | frozen_tokens(state))
    ]
    overlaps = any(first - _NEAR_S <= end and start <= last + _NEAR_S for start, end in stalls)
    text = Text(
        "the log shows a profiler window from {first:.0f} to {last:span}{when}",
        "日志显示分析器窗口位于 {first:.0f} 至 {last:span}{when}",
    )
    when = Text(", around the standstill", "，正值停顿期间") if overlaps else Text("", "")
    onset = scene.onset_at(first)
    strength = 1.5 if overlaps else 0.2
    yield scene.evidence(
        "log.profiler", len(events), "events", strength, text.format(first=first, last=last, when=when), "log", onset
    )


def _eager(scene: Scene) -> Iterator[Evidence]:
    configuration = scene.state.configuration
    eager = configuration.enforce_eager
    if eager is None and configuration.flags:
        eager = False  # the arguments are known and it is not among them
    if eager is None or configuration.device == "cpu":  # a CPU has no launches to replay
        return
    text = Text("CUDA graphs are off (--enforce-eager)", "CUDA graph 已关闭（--enforce-eager）")
    graphs = Text("CUDA graphs are on", "CUDA graph 已启用")
    yield scene.evidence(
        "config.eager", float(eager), "flag", 1.0 if eager else -1.0, text if eager else graphs, "config"
    )

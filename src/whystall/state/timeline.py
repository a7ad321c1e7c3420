"""EngineState -> the lines of its picture."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.engine_state import EngineState
from whystall.model.text import Text
from whystall.model.timeline import Timeline, TimelineLine, TimelinePanel

from .histograms import means

Floats = NDArray[np.float64]


def timeline(state: EngineState) -> Timeline:
    """Panels in the order of a request's life: requests, KV, tokens, latencies, then the machine."""
    panels = [_requests(state), _kv(state), _tokens(state), _first_token(state), _inter_token(state), *_machine(state)]
    return Timeline(start=state.start, t=state.t_end, panels=tuple(p for p in panels if p.lines))


def _requests(state: EngineState) -> TimelinePanel:
    seats = state.limit("max_num_seqs")
    # A cap far above what runs would flatten the picture to nothing; it is in the table of limits anyway.
    top = np.nanmax(state.running_end) if np.isfinite(state.running_end).any() else 0.0
    near = seats is not None and seats.value <= 3 * max(top, 1.0)
    running = TimelineLine(
        "running",
        Text("running", "运行"),
        state.running_end,
        seats.value if near and seats is not None else None,
        Text("max_num_seqs") if near else None,
    )
    lines = _seen(_queue_limited(running, state), TimelineLine("waiting", Text("waiting", "等待"), state.waiting_end))
    return TimelinePanel("requests", Text("Requests", "请求"), "req", lines)


def _queue_limited(running: TimelineLine, state: EngineState) -> TimelineLine:
    """The queue limit, which counts running requests too, in place of the seats where it refuses requests."""
    limit = state.limit("max_num_queued_reqs")
    if limit is None or not np.nansum(state.rejections) > 0:
        return running
    return msgspec.structs.replace(running, limit=limit.value, limit_label=Text("max_num_queued_reqs"))


def _kv(state: EngineState) -> TimelinePanel:
    usage = TimelineLine(
        "kv_usage", Text("KV blocks in use", "KV 块使用率"), state.kv_usage_end, 1.0, Text("all blocks", "全部块")
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        hit = np.where(state.prefix_queries > 0, state.prefix_hits / state.prefix_queries, np.nan)
    lines = _seen(usage, TimelineLine("hit_rate", Text("prefix-cache hits", "前缀缓存命中率"), hit))
    return TimelinePanel("kv", Text("KV cache", "KV 缓存"), "ratio", lines)


def _tokens(state: EngineState) -> TimelinePanel:
    lines = _seen(
        TimelineLine("computed", Text("prompt tokens computed", "计算的提示 token"), state.computed_tokens / state.dt),
        TimelineLine("generated", Text("tokens generated", "生成的 token"), state.generation_tokens / state.dt),
    )
    return TimelinePanel("tokens", Text("Tokens a second", "每秒 token"), "tok/s", lines)


def _first_token(state: EngineState) -> TimelinePanel:
    lines = _seen(
        TimelineLine("ttft", Text("mean TTFT", "平均 TTFT"), means(state.ttft)),
        TimelineLine("queue", Text("mean queue time (at the finish)", "平均排队时间（完成时计）"), means(state.queue)),
    )
    return TimelinePanel("ttft", Text("Time to first token", "首 token 时间"), "s", lines)


def _inter_token(state: EngineState) -> TimelinePanel:
    lines = _seen(TimelineLine("itl", Text("mean ITL", "平均 ITL"), means(state.itl)))
    return TimelinePanel("itl", Text("Inter-token latency", "token 间延迟"), "s", lines)


def _machine(state: EngineState) -> list[TimelinePanel]:
    panels = []
    if np.nansum(state.preemptions) > 0:
        line = TimelineLine("preemptions", Text("preemptions", "抢占"), state.preemptions / state.dt)
        panels.append(TimelinePanel("preemptions", Text("Preemptions", "抢占"), "1/s", _seen(line)))
    if np.nansum(state.rejections) > 0:
        line = TimelineLine("rejections", Text("refused requests", "被拒绝的请求"), state.rejections / state.dt)
        panels.append(TimelinePanel("rejections", Text("Refusals", "拒绝"), "1/s", _seen(line)))
    if state.gpu is not None:
        panels.append(_gpu(state))
    return panels


def _gpu(state: EngineState) -> TimelinePanel:
    assert state.gpu is not None
    limit = state.gpu.power_limit_w
    cap = float(np.nanmedian(limit)) if np.isfinite(limit).any() else None
    power = TimelineLine("power", Text("power", "功率"), state.gpu.power_w, cap, Text("power limit", "功率上限"))
    return TimelinePanel("gpu", Text("GPU power", "GPU 功率"), "W", _seen(power))


def _seen(*lines: TimelineLine) -> tuple[TimelineLine, ...]:
    return tuple(line for line in lines if np.isfinite(line.values).any())

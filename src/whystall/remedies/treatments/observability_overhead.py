"""The server is being profiled, or writes too much."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, without
from whystall.remedies.situation import Situation

_STOP = Text("Stop the profiler: POST /stop_profile", "停止剖析：POST /stop_profile")
_STOP_BUYS = Text("steps take as long as before", "步时恢复")
_STOP_RISK = Text("the server stalls once more while the file is written", "写文件时服务器会再停顿一次")
_BOUND = Text(
    "Profile a replica without traffic, with max_iterations of 20 to 50 and without stacks",
    "在无流量的副本上剖析，max_iterations 设为 20 至 50，且不带调用栈",
)
_BOUND_BUYS = Text("the same trace without the users' waiting", "得到同样的 trace，而用户不必等待")
_NONE = Text(
    "nobody starts a profile any more: without the flag there is no /start_profile",
    "不会再有人启动剖析：没有该参数就没有 /start_profile",
)
_LINES = Text("no line a step in the log", "日志不再逐步输出")


def candidates(case: Situation) -> Iterator[Candidate]:
    """Stop it now; do it elsewhere the next time, and keep others from starting it here."""
    yield act("operation", "profile.stop", _STOP, _STOP_BUYS, _STOP_RISK, "stop_bleeding")
    yield act("operation", "profile.elsewhere", _BOUND, _BOUND_BUYS)
    if case.setup.is_set("profiler_config"):
        yield without(case, "profiler_config", _NONE)
    for knob in ("enable_layerwise_nvtx_tracing", "enable_logging_iteration_details"):
        if case.setup.is_set(knob) and case.setup.on(knob):
            yield without(case, knob, _LINES)

"""The engine's thread is the limit: overlap it, or look what it does."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, switched_on, without
from whystall.remedies.situation import Situation

_ASYNC = Text("the next step is scheduled while this one runs", "本步运行时即调度下一步")
_ASYNC_RISK = Text(
    "one wasted slot for each request that ends by its stop token", "以停止 token 结束的请求各浪费一个槽位"
)
_PROFILE = Text(
    "Sample the EngineCore process for ten seconds (py-spy record -d 10 -p PID) and see what fills it",
    "对 EngineCore 进程采样十秒（py-spy record -d 10 -p PID），看它忙于何事",
)
_PROFILE_BUYS = Text("tells scheduling, detokenizing, grammar and logging apart", "可区分调度、反分词、语法与日志")
_DETAILS = Text("no line a step in the log", "日志不再逐步输出")


def candidates(case: Situation) -> Iterator[Candidate]:
    """Async scheduling where it is off by flag, or where the version leaves it off."""
    if case.setup.is_set("async_scheduling") and case.setup.on("async_scheduling") is False:
        yield without(case, "async_scheduling", _ASYNC, _ASYNC_RISK)
    elif case.setup.is_set("async_scheduling") is False and case.setup.defaults.get("async_scheduling") == "False":
        yield switched_on(case, "async_scheduling", _ASYNC, _ASYNC_RISK)
    if case.setup.is_set("enable_logging_iteration_details") and case.setup.on("enable_logging_iteration_details"):
        yield without(case, "enable_logging_iteration_details", _DETAILS)
    yield act("operation", "profile.engine", _PROFILE, _PROFILE_BUYS)

"""The garbage collector stops the engine."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act
from whystall.remedies.situation import Situation

_UPDATE = Text("Update to a version that freezes the heap after start-up", "升级到启动后冻结堆的版本")
_UPDATE_BUYS = Text("the collector no longer walks what never dies", "回收器不再遍历常驻对象")
_UPDATE_RISK = Text(
    "a new version changes more than that: try it on one replica", "新版本带来其他变化：先在一个副本上试用"
)
_TURNS = Text("Until then restart long-lived replicas in turn", "在此之前轮流重启长时间运行的副本")
_TURNS_BUYS = Text("a young heap has short collections", "新堆的回收停顿短")
_TURNS_RISK = Text("one replica less while it starts", "启动期间少一个副本")


def candidates(case: Situation) -> Iterator[Candidate]:
    """A version that is better at it; restarts until then."""
    yield act("version", "version.heap", _UPDATE, _UPDATE_BUYS, _UPDATE_RISK)
    yield act("operation", "operation.restart", _TURNS, _TURNS_BUYS, _TURNS_RISK, "stop_bleeding")

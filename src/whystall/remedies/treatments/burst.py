"""Requests come in crowds."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act
from whystall.remedies.situation import Situation

_PACE = Text("Spread the arrivals: pace the client, add jitter to batch jobs", "分散到达：客户端限速，批任务加抖动")
_PACE_BUYS = Text("the same work without its queue", "同样的工作，不再排队")
_PACE_RISK = Text("the last request of a crowd is sent later", "一批中最后的请求会更晚发出")


def candidates(case: Situation) -> Iterator[Candidate]:
    """The one who sends can spread them; the server can only hold headroom."""
    yield act("client", "client.pace", _PACE, _PACE_BUYS, _PACE_RISK)

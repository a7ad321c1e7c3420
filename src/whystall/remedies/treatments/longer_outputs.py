"""Answers got longer."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act
from whystall.remedies.situation import Situation

_BOUND = Text(
    "Bound max_tokens in the requests, or mend the template that no longer ends its answers (stop tokens)",
    "在请求中限制 max_tokens，或修复不再结束回答的模板（停止符）",
)
_BUYS = Text("sequences leave the batch as soon as they did before", "序列像以前一样及时离开批次")
_RISK = Text("answers may be cut off", "回答可能被截断")


def candidates(case: Situation) -> Iterator[Candidate]:
    """A change of the workload is mended where it is made."""
    yield act("client", "client.outputs", _BOUND, _BUYS, _RISK)

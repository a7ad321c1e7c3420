"""Prompts got longer."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act
from whystall.remedies.situation import Situation

_FIND = Text(
    "Find who sends the longer prompts and bound them (retrieved passages, history), or size the pool for them",
    "找出发送更长提示者并加以限制（检索段落、历史），或按其规模配置块池",
)
_BUYS = Text("demand for KV blocks and prefill falls back to what it was", "KV 块与预填充需求恢复到之前的水平")
_RISK = Text("shorter context may change the answers", "上下文变短可能影响回答")


def candidates(case: Situation) -> Iterator[Candidate]:
    """A change of the workload is mended where it is made."""
    yield act("client", "client.prompts", _FIND, _BUYS, _RISK)

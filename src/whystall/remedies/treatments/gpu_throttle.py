"""The GPU's clock is held down: that is mended at the machine."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act
from whystall.remedies.situation import Situation

_COOL = Text(
    "Find out why the clock is held down (nvidia-smi -q -d PERFORMANCE,POWER): restore the power limit, or mend the cooling",
    "查明时钟被压低的原因（nvidia-smi -q -d PERFORMANCE,POWER）：恢复功率上限或修复散热",
)
_COOL_BUYS = Text("steps take as long as they did at the full clock", "步时恢复到全速时钟的水平")
_COOL_RISK = Text("more power and heat in the rack", "机柜功耗与发热增加")
_MOVE = Text("Take this replica out of the gateway until then", "在此之前把该副本从网关摘除")
_MOVE_BUYS = Text("its requests go to replicas at full clock", "请求改由全速副本处理")
_MOVE_RISK = Text("the others must carry its load", "其他副本须承担其负载")


def candidates(case: Situation) -> Iterator[Candidate]:
    """No flag of vLLM raises a clock."""
    yield act("host", "host.clock", _COOL, _COOL_BUYS, _COOL_RISK)
    yield act("gateway", "gateway.drain", _MOVE, _MOVE_BUYS, _MOVE_RISK, "stop_bleeding")

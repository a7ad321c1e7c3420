"""Requests are refused by the queue limit: raise it where there is room, else add capacity."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.diagnosis import Aim
from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, turned, without
from whystall.remedies.capacity import replicas
from whystall.remedies.situation import Situation, rounded_up

# The load that is refused comes back: retries.
MARGIN = 1.5
# Above this usage more requests only wait for blocks.
KV_ROOM = 0.9

_ROOM = Text(
    "the refused requests run at once: {running:.0f} of {seats:.0f} seats are taken and blocks are free",
    "被拒绝的请求可立即运行：{seats:.0f} 个席位仅用 {running:.0f} 个，且块有余",
)
_WAITS = Text("the refused requests wait in place of being refused", "被拒绝的请求改为等待")
_RISK = Text("more requests share the steps: ITL rises with the batch", "更多请求共享每一步：ITL 随批量上升")
_RISK_WAIT = Text("TTFT rises: the limit was what kept it low", "TTFT 上升：它正是靠该上限压低的")
_TOKENS = Text("requests are no longer refused for their prompt tokens", "不再因提示 token 数而拒绝请求")
_REPLICAS = Text("the refused load is served", "被拒绝的负载得到服务")


def candidates(case: Situation) -> Iterator[Candidate]:
    """Raise the limit that is set, to the load times the time that a request takes (Little's law)."""
    now, needed = case.limit("max_num_queued_reqs"), _needed(case)
    room = _has_room(case, needed)
    if now > 0 and math.isfinite(needed):
        running, seats = case.mean(case.state.running_end), case.limit("max_num_seqs")
        buys = _ROOM.format(running=running, seats=seats) if room else _WAITS
        aim: Aim = "fix" if room else "stop_bleeding"
        yield turned(case, "max_num_queued_reqs", rounded_up(needed), buys, _RISK if room else _RISK_WAIT, aim)
    elif not now > 0 and case.setup.is_set("max_num_queued_tokens"):
        yield without(case, "max_num_queued_tokens", _TOKENS, _RISK_WAIT, "stop_bleeding")
    if not room:
        yield replicas(_offered(case), _REPLICAS)


def _offered(case: Situation) -> float:
    finished, refused = case.ranks() * case.rate(case.state.finished), case.rate(case.state.rejections)
    return (finished + refused) / finished if finished > 0 else math.nan


def _needed(case: Situation) -> float:
    """Requests in the server if nobody were refused; at least half again as many as the limit lets in."""
    count = case.total(case.state.e2e.count)
    stay = case.total(case.state.e2e.sum) / count if count > 0 else math.nan
    load = (case.ranks() * case.rate(case.state.finished) + case.rate(case.state.rejections)) * stay
    return float(np.fmax(load, case.limit("max_num_queued_reqs"))) * MARGIN


def _has_room(case: Situation, needed: float) -> bool:
    seats, usage = case.limit("max_num_seqs"), case.peak(case.state.kv_usage_end)
    running, share = case.mean(case.state.running_end), needed / case.ranks()
    return seats >= share and running > 0 and usage * share / running < KV_ROOM

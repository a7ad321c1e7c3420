"""Seats are full: as many as the load needs and the KV pool holds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, turned
from whystall.remedies.capacity import replicas
from whystall.remedies.situation import Situation, rounded_up

# Below this the restart is not worth it.
LEAST_GAIN = 1.15
# Decoding grows the sequences after their admission.
POOL_SHARE = 0.9

_BUYS = Text(
    "seats for what waits ({demand:.0f} requests at the peak)",
    "让等待者有席位（峰值 {demand:.0f} 个请求）",
)
_BOUNDED = Text(
    "as many seats as the KV pool and the token budget carry ({demand:.0f} requests at the peak)",
    "KV 池与 token 预算所能承载的席位数（峰值 {demand:.0f} 个请求）",
)
_RISK = Text(
    "ITL rises with the batch; sampler and graph captures take a little of the KV pool",
    "ITL 随批量上升；采样器与 graph 捕获会略微占用 KV 池",
)
_REPLICAS = Text("a queue is served that one engine's seats cannot take", "可承接单个引擎席位容不下的排队")


def candidates(case: Situation) -> Iterator[Candidate]:
    """More seats; replicas where the pool or the budget does not carry them."""
    knob = "max_num_active_seqs" if _active_binds(case) else "max_num_seqs"
    now, demand = case.limit(knob), case.demand()
    most = _carried(case)
    seats = min(rounded_up(demand), most) if math.isfinite(demand) else math.nan
    if now > 0 and seats >= LEAST_GAIN * now:
        buys = _BUYS if seats >= demand else _BOUNDED
        yield turned(case, knob, int(seats), buys.format(demand=demand), _RISK)
    if not seats >= demand:
        yield replicas(demand / max(seats, now) if now > 0 else math.nan, _REPLICAS)


def _active_binds(case: Situation) -> bool:
    return case.limit("max_num_active_seqs") < case.limit("max_num_seqs")


def _carried(case: Situation) -> float:
    """Sequences that the pool and the token budget carry, unbounded where neither is known."""
    found = [math.floor(POOL_SHARE * case.seats_in_pool()) if math.isfinite(case.seats_in_pool()) else math.nan]
    found += [case.limit("max_num_batched_tokens")]
    if _active_binds(case):
        found += [case.limit("max_num_seqs")]
    return min((x for x in found if math.isfinite(x)), default=math.inf)

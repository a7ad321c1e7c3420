"""Remedies that several causes share: more replicas, and refusing what cannot be served."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from whystall.model.text import Text

from .candidate import Candidate, act, turned
from .situation import Situation, rounded_up

# Who waits longer than this gives up or retries: what would wait longer had better be told at once (DESIGN, SLO).
WAIT_S = 1.0
# A replica that is used fully has a queue at any burst.
HEADROOM = 1.2
_MORE = Text(
    "Add replicas: about {n} where one is now, behind the same gateway",
    "增加副本：在同一网关后，现有一个处约需 {n} 个",
)
_REPLICA_RISK = Text(
    "costs GPUs; a balancer that ignores prefixes loses cache hits",
    "需要更多 GPU；不考虑前缀的均衡会损失缓存命中",
)
_REFUSE_BUYS = Text(
    "those who are let in wait about {wait:span} at most; the rest hears at once",
    "被接纳的请求最多约等 {wait:span}；其余立即得到答复",
)
_REFUSE_RISK = Text(
    "requests are refused with 503: clients must retry later or elsewhere",
    "请求会以 503 被拒绝：客户端须稍后或换副本重试",
)
_GATEWAY = Text(
    "Let the gateway refuse or hold back what exceeds {n} requests at once for this replica",
    "让网关拒绝或缓发超出该副本 {n} 个并发请求的部分",
)


def replicas(factor: float, buys: Text) -> Candidate:
    """So many servers in place of one; ``factor`` is the load over what one carries."""
    count = max(2, math.ceil(factor * HEADROOM)) if math.isfinite(factor) else 2
    return act("capacity", "add.replicas", _MORE.format(n=count), buys, _REPLICA_RISK, replicas=str(count))


def offered_over_served(case: Situation) -> float:
    """Requests that came over those that were served, from the admissions and the growth of the queue."""
    served = case.total(case.state.first_tokens)
    waiting = case.state.waiting_end[case.inside & np.isfinite(case.state.waiting_end)]
    grown = max(float(waiting[-1] - waiting[0]), 0.0) if len(waiting) else 0.0
    return (served + grown) / served if served > 0 else math.nan


def shedding(case: Situation) -> Iterator[Candidate]:
    """Refuse what would wait longer than a second: by the engine where its version can, else by the gateway."""
    running, rate = case.mean(case.state.running_end), case.rate(case.state.finished)
    if not (running > 0 and rate >= 0 and math.isfinite(running + rate)):
        return
    most = rounded_up(case.ranks() * max(running + rate * WAIT_S, running + 1))
    buys = _REFUSE_BUYS.format(wait=WAIT_S)
    if case.has("max_num_queued_reqs") and case.setup.is_set("max_num_queued_reqs") is not True:
        yield turned(case, "max_num_queued_reqs", most, buys, _REFUSE_RISK, "stop_bleeding")
    else:
        yield act("gateway", "gateway.limit", _GATEWAY.format(n=most), buys, _REFUSE_RISK, "stop_bleeding")

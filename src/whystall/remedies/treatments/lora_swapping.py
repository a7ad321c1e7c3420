"""Adapters wait for a slot."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, turned
from whystall.remedies.situation import Situation

_SLOTS = Text("twice the adapters in one batch", "一个批次可用的适配器翻倍")
_SLOTS_RISK = Text("each slot takes GPU memory from the KV pool", "每个槽位都占用 KV 池显存")
_ROUTE = Text("Route each adapter to a replica of its own", "把每个适配器路由到固定副本")
_ROUTE_BUYS = Text("fewer adapters meet on one server", "同一服务器上的适配器更少")
_ROUTE_RISK = Text("replicas are loaded less evenly", "副本负载不那么均匀")


def candidates(case: Situation) -> Iterator[Candidate]:
    """More slots, or fewer adapters for each server."""
    slots = case.setup.number("max_loras")
    if slots:
        yield turned(case, "max_loras", int(2 * slots), _SLOTS, _SLOTS_RISK)
    yield act("gateway", "gateway.adapters", _ROUTE, _ROUTE_BUYS, _ROUTE_RISK)

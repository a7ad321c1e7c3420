"""Prefixes are no longer found."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, without
from whystall.remedies.situation import Situation

_CACHING = Text(
    "prefixes that prompts share are computed once: it is switched off here", "提示共享的前缀只计算一次：此处已被关闭"
)
_LAYOUT = Text(
    "Look at the first tokens of the prompts: move what changes (time, id, user) behind what is shared",
    "检查提示开头：把会变化的内容（时间、ID、用户）移到共享部分之后",
)
_LAYOUT_BUYS = Text(
    "the cache finds the shared part again: fewer tokens to compute", "缓存重新命中共享部分：需计算的 token 减少"
)
_LAYOUT_RISK = Text("needs a change of the client's templates", "需要修改客户端模板")
_ROUTE = Text(
    "Let the gateway send requests of one conversation or tenant to the same replica",
    "让网关把同一会话或租户的请求送到同一副本",
)
_ROUTE_BUYS = Text("the prefix lies where the request goes", "请求到达其前缀所在的副本")
_ROUTE_RISK = Text("replicas are loaded less evenly", "副本负载不那么均匀")


def candidates(case: Situation) -> Iterator[Candidate]:
    """The cache where it is off; else what made the prefixes differ."""
    if case.setup.is_set("enable_prefix_caching") and case.setup.on("enable_prefix_caching") is False:
        yield without(case, "enable_prefix_caching", _CACHING)
    yield act("client", "client.prefix", _LAYOUT, _LAYOUT_BUYS, _LAYOUT_RISK)
    yield act("gateway", "gateway.affinity", _ROUTE, _ROUTE_BUYS, _ROUTE_RISK)

"""One giant prompt stands in front: room for it, a cap on its chunk, or giants elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, turned
from whystall.remedies.situation import Situation

from .kv_capacity import without_override

LEAST_CHUNK = 256

_THRESHOLD = Text(
    "short requests share the steps with the giant in place of waiting for it",
    "短请求与巨型提示共享每一步，而不必等它算完",
)
_RISK = Text("the giants' own TTFT rises", "巨型提示自身的 TTFT 上升")
_APART = Text("Route giant prompts to a replica of their own", "把巨型提示路由到专用副本")
_APART_BUYS = Text("short requests never stand behind one", "短请求不再排在其后")
_APART_RISK = Text("that replica's share of the load is hard to guess", "该副本的负载份额难以预估")
_PRIORITY = Text(
    "Let clients mark urgent requests: the field priority, lower first",
    "让客户端用 priority 字段标记紧急请求，数值小者优先",
)
_PRIORITY_BUYS = Text("urgent requests enter first", "紧急请求先进入")
_PRIORITY_RISK = Text("giants may starve; a running one is not pushed out", "巨型提示可能饿死；已在运行的不会被挤出")


def candidates(case: Situation) -> Iterator[Candidate]:
    """The pool that keeps a giant out first, where the operator made it small; then the cap on a prompt's chunk."""
    if case.setup.is_set("num_gpu_blocks_override"):
        yield without_override(case)
    budget = case.limit("max_num_batched_tokens")
    if budget > 0 and case.setup.number("long_prefill_token_threshold") in (None, 0):
        value = int(min(max(budget // 4, LEAST_CHUNK), budget))
        yield turned(case, "long_prefill_token_threshold", value, _THRESHOLD, _RISK)
    yield act("gateway", "gateway.giants", _APART, _APART_BUYS, _APART_RISK)
    if case.setup.text("scheduling_policy") == "fcfs":
        found = turned(case, "scheduling_policy", "priority", _PRIORITY_BUYS, _PRIORITY_RISK)
        text = Text("{flag}. {client}", "{flag}。{client}").format(flag=found.text, client=_PRIORITY)
        yield msgspec.structs.replace(found, text=text)

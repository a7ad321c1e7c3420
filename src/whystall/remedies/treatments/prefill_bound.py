"""Prompts take the GPU's time: fewer tokens to compute, or more GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, without
from whystall.remedies.capacity import offered_over_served, replicas
from whystall.remedies.situation import Situation

from .token_budget import larger_budget

# Steps under this many tokens do not use the GEMMs (vllm.md 6.1).
SMALL_BUDGET = 2048
# bf16 prefill reaches 40 to 60% of the data sheet's peak (evidence/thresholds, mfu_ceiling).
MFU_BEST = 0.6

_CACHING = Text(
    "prefixes, if the prompts share any, are computed once: it is switched off here",
    "若提示有共享前缀，则只需计算一次：此处已被关闭",
)
_LAYOUT = Text(
    "Put what prompts share (system prompt, tools, documents) first and unchanged, so that the prefix cache finds it",
    "把提示的共享部分（系统提示、工具、文档）放在最前且保持不变，以便前缀缓存命中",
)
_BUYS = Text(
    "shared tokens are not computed; now {share:.0%} of the prompt tokens are",
    "共享 token 无需计算；目前有 {share:.0%} 的提示 token 需要计算",
)
_BUYS_AT_MOST = Text(
    "little: at most about {more:.0%} more prompt tokens a second, the GPU computes near its ceiling already",
    "收益甚微：每秒最多约多算 {more:.0%} 的提示 token，GPU 计算已接近上限",
)
_BUYS_LITTLE = Text("little: the device computes near its ceiling already", "收益甚微：设备计算已接近上限")
_BUYS_UNSEEN = Text("shared tokens are not computed", "共享 token 无需计算")
_LAYOUT_RISK = Text("needs a change of the client's templates", "需要修改客户端模板")
_REPLICAS = Text(
    "prompts are computed on more GPUs; fp8 weights would also speed prefill up",
    "提示由更多 GPU 计算；fp8 权重也能加快预填充",
)


def candidates(case: Situation) -> Iterator[Candidate]:
    """A budget that is too small for the GEMMs first, unless the device is at its ceiling; then GPUs, then prefixes.

    Whether prompts share prefixes cannot be seen while the cache is off, so switching it on is no first step.
    """
    small = case.limit("max_num_batched_tokens") < SMALL_BUDGET and case.strength("budget.full") > 0
    at_ceiling = case.strength("prefill.ceiling") >= 1
    if small and not at_ceiling:
        yield from larger_budget(case)
    yield replicas(offered_over_served(case), _REPLICAS)
    if case.setup.is_set("enable_prefix_caching") and case.setup.on("enable_prefix_caching") is False:
        yield without(case, "enable_prefix_caching", _CACHING)
    if case.setup.on("enable_prefix_caching") is not False:
        yield _layout(case)
    if small and at_ceiling:
        yield from (msgspec.structs.replace(found, buys=_little(case)) for found in larger_budget(case))


def _little(case: Situation) -> Text:
    """What a larger budget buys where the device is near its ceiling: the rest up to the best that prefill reaches."""
    used = case.value("prefill.ceiling")
    if used < MFU_BEST:
        return _BUYS_AT_MOST.format(more=MFU_BEST / used - 1)
    return _BUYS_LITTLE


def _layout(case: Situation) -> Candidate:
    prompts, computed = case.total(case.state.prompt_tokens), case.total(case.state.computed_tokens)
    buys = _BUYS.format(share=computed / prompts) if prompts > 0 and computed <= prompts else _BUYS_UNSEEN
    return act("client", "client.prefix", _LAYOUT, buys, _LAYOUT_RISK)

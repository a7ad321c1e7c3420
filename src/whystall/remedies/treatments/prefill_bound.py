"""Prompts take the GPU's time: fewer tokens to compute, or more GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, without
from whystall.remedies.capacity import offered_over_served, replicas
from whystall.remedies.situation import Situation

from .token_budget import larger_budget

# Steps under this many tokens do not use the GEMMs (vllm.md 6.1).
SMALL_BUDGET = 2048

_CACHING = Text(
    "prefixes that prompts share are computed once: it is switched off here",
    "提示共享的前缀只计算一次：此处已被关闭",
)
_LAYOUT = Text(
    "Put what prompts share (system prompt, tools, documents) first and unchanged, so that the prefix cache finds it",
    "把提示的共享部分（系统提示、工具、文档）放在最前且保持不变，以便前缀缓存命中",
)
_BUYS = Text(
    "shared tokens are not computed; now {share:.0%} of the prompt tokens are",
    "共享 token 无需计算；目前有 {share:.0%} 的提示 token 需要计算",
)
_BUYS_UNSEEN = Text("shared tokens are not computed", "共享 token 无需计算")
_LAYOUT_RISK = Text("needs a change of the client's templates", "需要修改客户端模板")
_REPLICAS = Text(
    "prompts are computed on more GPUs; fp8 weights would also speed prefill up",
    "提示由更多 GPU 计算；fp8 权重也能加快预填充",
)


def candidates(case: Situation) -> Iterator[Candidate]:
    """A budget that is too small for the GEMMs first; then prefixes, then replicas."""
    if case.limit("max_num_batched_tokens") < SMALL_BUDGET and case.strength("budget.full") > 0:
        yield from larger_budget(case)
    if case.setup.is_set("enable_prefix_caching") and case.setup.on("enable_prefix_caching") is False:
        yield without(case, "enable_prefix_caching", _CACHING)
    yield replicas(offered_over_served(case), _REPLICAS)
    if case.setup.on("enable_prefix_caching") is not False:
        yield _layout(case)


def _layout(case: Situation) -> Candidate:
    prompts, computed = case.total(case.state.prompt_tokens), case.total(case.state.computed_tokens)
    buys = _BUYS.format(share=computed / prompts) if prompts > 0 and computed <= prompts else _BUYS_UNSEEN
    return act("client", "client.prefix", _LAYOUT, buys, _LAYOUT_RISK)

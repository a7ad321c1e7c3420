"""Steps are full: a larger budget while the GEMMs are not saturated."""

from __future__ import annotations

from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, turned, without
from whystall.remedies.capacity import offered_over_served, replicas
from whystall.remedies.situation import Situation

# Prefill throughput grows up to here (vllm.md 6.1).
SATURATED = 8192
LEAST = 2048
STEP = 4

_BUYS = Text(
    "more prompt tokens a step: TTFT falls until the GEMMs are saturated (2,000 to 8,000 tokens)",
    "每步更多提示 token：TTFT 下降，直到 GEMM 饱和（2,000 至 8,000 token）",
)
_RISK = Text(
    "the ITL tail rises with the longer steps; the profile run takes a little from the KV pool",
    "ITL 尾部随步时上升；显存剖析会略微压缩 KV 池",
)
_SCHEDULED_RISK = Text("the ITL tail rises with the longer steps", "ITL 尾部随步时上升")
_CACHING = Text("prefixes that prompts share are computed once", "提示共享的前缀只计算一次")
_REPLICAS = Text("prompts are computed on more GPUs", "提示由更多 GPU 计算")


def candidates(case: Situation) -> Iterator[Candidate]:
    """Four times the budget, between 2,048 and 8,192 tokens; above that only capacity helps."""
    yield from larger_budget(case)
    if case.setup.is_set("enable_prefix_caching") and case.setup.on("enable_prefix_caching") is False:
        yield without(case, "enable_prefix_caching", _CACHING)
    yield replicas(offered_over_served(case), _REPLICAS)


def larger_budget(case: Situation) -> Iterator[Candidate]:
    """A larger token budget where it is under the GEMMs' saturation."""
    budget, scheduled = case.limit("max_num_batched_tokens"), case.limit("max_num_scheduled_tokens")
    if scheduled < budget:
        if scheduled < SATURATED:
            value = int(min(budget, SATURATED, max(STEP * scheduled, LEAST)))
            yield turned(case, "max_num_scheduled_tokens", value, _BUYS, _SCHEDULED_RISK)
    elif budget < SATURATED:
        value = int(min(SATURATED, max(STEP * budget, LEAST)))
        yield turned(case, "max_num_batched_tokens", value, _BUYS, _RISK)

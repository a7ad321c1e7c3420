"""Prompts stretch everybody's steps: shorter chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, act, turned, without
from whystall.remedies.situation import Situation, power_of_two

# A step that decoding shares with a chunk: four times what a fast reader needs between tokens (DESIGN, SLO).
STEP_S = 0.1
# Smaller steps waste the GEMMs; on a CPU they are saturated sooner.
LEAST = 512
LEAST_CPU = 128
# A prompt in smaller pieces takes more steps than it is worth.
LEAST_CHUNK = 256
# Where the speed of prefill was not seen: the default of the smaller GPUs.
USUAL = 2048

_CHUNKED = Text(
    "decoding goes on beside a prompt, whose pieces take about {step:.0f} ms a step in place of all of it at once",
    "解码与提示并行，每步只算约 {step:.0f} 毫秒的提示分块，而非一次算完",
)
_SHORTER = Text(
    "steps with prompts last about {step:.0f} ms: a better ITL tail", "含提示的步约 {step:.0f} 毫秒：ITL 尾部改善"
)
_UNSEEN = Text("shorter steps with prompts: a better ITL tail", "含提示的步更短：ITL 尾部改善")
_RISK = Text("long prompts take more steps: their TTFT rises", "长提示需要更多步：其 TTFT 上升")
_THRESHOLD = Text(
    "a long prompt takes no more than a quarter of a step, the rest is for others",
    "长提示最多占一步的四分之一，其余留给他人",
)
_THRESHOLD_RISK = Text(
    "long prompts get a worse TTFT; with many of them a step is as long as before",
    "长提示 TTFT 变差；若长提示很多，步仍与之前一样长",
)
_CACHING = Text(
    "prefixes, if the prompts share any, are not computed again: fewer tokens in the steps",
    "若提示有共享前缀，则不再重复计算：步内 token 更少",
)
_APART = Text(
    "Send long prompts to replicas of their own, or prefill on servers of its own (--kv-transfer-config)",
    "把长提示送到专用副本，或让预填充使用独立服务器（--kv-transfer-config）",
)
_APART_BUYS = Text("ITL no longer feels the prompts", "ITL 不再受提示影响")
_APART_RISK = Text("more GPUs; a transfer of the KV cache for each request", "需要更多 GPU；每个请求多一次 KV 传输")


def candidates(case: Situation) -> Iterator[Candidate]:
    """Chunked prefill and a smaller budget, then a cap on a single prompt's chunk."""
    yield from _budget(case)
    yield from _threshold(case)
    yield act("gateway", "gateway.long_prompts", _APART, _APART_BUYS, _APART_RISK)
    # Last: while the cache is off, nobody can see whether prompts share prefixes.
    if case.setup.is_set("enable_prefix_caching") and case.setup.on("enable_prefix_caching") is False:
        yield without(case, "enable_prefix_caching", _CACHING)


def _budget(case: Situation) -> Iterator[Candidate]:
    budget, value = case.limit("max_num_batched_tokens"), _tokens(case)
    step = 1e3 * value / case.tokens_per_s()
    if case.setup.is_set("enable_chunked_prefill") and case.setup.on("enable_chunked_prefill") is False:
        yield _chunked(case, value, step)
    elif budget > value:
        buys = _SHORTER.format(step=step) if math.isfinite(step) else _UNSEEN
        yield turned(case, "max_num_batched_tokens", value, buys, _RISK)


def _chunked(case: Situation, value: int, step: float) -> Candidate:
    """Both at once: a budget that held the longest prompt would still compute it in one step."""
    found = without(
        case, "enable_chunked_prefill", _CHUNKED.format(step=step) if math.isfinite(step) else _UNSEEN, _RISK
    )
    if not case.limit("max_num_batched_tokens") > value:
        return found
    more = turned(case, "max_num_batched_tokens", value, _UNSEEN, _RISK)
    text = Text("{first}, and {second}", "{first}，并{second}").format(first=found.text, second=_inside(more.text))
    return msgspec.structs.replace(found, text=text, change=found.change | more.change)


def _inside(text: Text) -> Text:
    return Text(text.en[0].lower() + text.en[1:], text.zh)


def _tokens(case: Situation) -> int:
    """A power of two that prefill computes in a step's time, and that holds every sequence that runs."""
    speed, cpu = case.tokens_per_s(), case.state.configuration.device == "cpu"
    wanted = power_of_two(speed * STEP_S) if math.isfinite(speed) else USUAL
    seats = case.limit("max_num_seqs") if not case.setup.floats("max_num_seqs") else case.demand()
    least = LEAST_CPU if cpu else LEAST
    lowest = max(least, seats if math.isfinite(seats) else least)
    return int(max(wanted, 2 ** math.ceil(math.log2(lowest))))


def _threshold(case: Situation) -> Iterator[Candidate]:
    """A quarter of the budget, or of what the budget should become."""
    budget = case.limit("max_num_batched_tokens")
    if not budget > 0:
        return
    value = int(min(budget, _tokens(case))) // 4
    if value >= LEAST_CHUNK and case.setup.number("long_prefill_token_threshold") in (None, 0):
        yield turned(case, "long_prefill_token_threshold", value, _THRESHOLD, _THRESHOLD_RISK)

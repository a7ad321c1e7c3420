"""Blocks are short: more bytes, fewer bytes a token, more GPUs; admit less until then."""

from __future__ import annotations

import math
from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, turned, without
from whystall.remedies.capacity import replicas, shedding
from whystall.remedies.pool import MARGIN_BYTES, blocks_without_override, free_bytes, higher_share
from whystall.remedies.situation import Situation

# A smaller gain is not worth a restart.
LEAST_GAIN = 0.1
# More preemptions than this for each finished request: sequences are computed over and over.
THRASH = 0.1
_16_BIT = ("auto", "", "bfloat16", "float16", "half")
# GPUs whose tensor cores compute in fp8; on others the cache's type depends on a backend that has to be found out.
_FP8_GPUS = (
    "H100",
    "H200",
    "H20",
    "H800",
    "GH200",
    "B200",
    "B300",
    "GB200",
    "L40",
    "L4",
    "RTX 4090",
    "RTX 5090",
    "RTX PRO 6000",
)

_OVERRIDE = Text(
    "the pool is as large as memory allows: about {blocks:,.0f} blocks in place of {now:,.0f}",
    "块池可用满显存：约 {blocks:,.0f} 块，现为 {now:,.0f} 块",
)
_OVERRIDE_UNSEEN = Text(
    "the pool is as large as memory allows; this flag is for tests",
    "块池可用满显存；该参数仅供测试",
)
_OVERRIDE_RISK = Text("the pool takes the memory that it was kept from", "块池会占用此前被留出的显存")
_SHARE = Text("about {share:.0%} more KV blocks", "KV 块约增加 {share:.0%}")
_SHARE_RISK = Text(
    "less is left for NCCL, graphs and other processes: out of memory if another one starts on this GPU",
    "留给 NCCL、graph 与其他进程的显存更少：若该 GPU 上再启动其他进程可能显存不足",
)
_FP8 = Text("twice the tokens in the same bytes", "同样的字节可容纳两倍 token")
_FP8_RISK = Text(
    "answers change a little: check the accuracy on your own tasks; the attention backend may change",
    "输出会略有变化：须用自己的任务检查精度；注意力后端可能改变",
)
_SEATS = Text(
    "no more preemption: {seats} sequences of this length fit the pool to their end",
    "不再抢占：块池可让 {seats} 个此长度的序列运行到结束",
)
_SEATS_RISK = Text("the queue gets longer; it only stops work from being thrown away", "排队变长；仅避免重复计算")
_REPLICAS = Text(
    "the pool grows with each replica; a larger GPU adds more than its size says, as the weights stay the same",
    "块池随副本增长；更大的 GPU 收益超过其容量比例，因为权重大小不变",
)


def candidates(case: Situation) -> Iterator[Candidate]:
    """Lift what keeps the pool small, else make it larger or its tokens smaller, else add GPUs."""
    if case.setup.is_set("num_gpu_blocks_override"):
        yield without_override(case)
        if blocks_without_override(case) >= _shortage(case) * case.limit("num_gpu_blocks"):
            return  # one restart lifts it: nothing else is needed
    else:
        yield from _larger(case)
    yield replicas(_shortage(case), _REPLICAS)
    yield from _fewer_seats(case)
    yield from shedding(case)


def without_override(case: Situation) -> Candidate:
    blocks, now = blocks_without_override(case), case.limit("num_gpu_blocks")
    buys = _OVERRIDE.format(blocks=blocks, now=now) if blocks > now else _OVERRIDE_UNSEEN
    return without(case, "num_gpu_blocks_override", buys, _OVERRIDE_RISK)


def _larger(case: Situation) -> Iterator[Candidate]:
    sized = case.setup.is_set("kv_cache_memory_bytes")
    yield from _more_bytes(case) if sized else _more_share(case)
    if _fp8_fits(case):
        yield turned(case, "kv_cache_dtype", "fp8", _FP8, _FP8_RISK)


def _more_bytes(case: Situation) -> Iterator[Candidate]:
    """The pool was asked for in bytes: the GPU's free memory on top of that."""
    asked, more = case.setup.number("kv_cache_memory_bytes"), free_bytes(case) - 2 * MARGIN_BYTES
    if asked and more >= LEAST_GAIN * asked:
        yield turned(case, "kv_cache_memory_bytes", int(asked + more), _SHARE.format(share=more / asked), _SHARE_RISK)


def _more_share(case: Situation) -> Iterator[Candidate]:
    share, now, gpu = higher_share(case), case.limit("gpu_memory_utilization"), case.state.gpu
    pool = case.state.configuration.kv_cache_bytes
    if gpu is None or not share > now or not pool:
        return
    gain = (share - now) * gpu.mem_total_bytes / pool
    if gain >= LEAST_GAIN:
        yield turned(case, "gpu_memory_utilization", f"{share:.2f}", _SHARE.format(share=gain), _SHARE_RISK)


def _fp8_fits(case: Situation) -> bool:
    """A 16-bit cache of an unquantized model on a GPU with fp8, whose backend the operator left open."""
    server = case.state.configuration
    plain = server.kv_cache_dtype in _16_BIT and server.dtype in _16_BIT[2:] and not server.quantization
    fast = server.device == "cuda" and any(name.lower() in server.gpu_name.lower() for name in _FP8_GPUS)
    return plain and fast and case.setup.is_set("attention_backend") is not True


def _fewer_seats(case: Situation) -> Iterator[Candidate]:
    """Down to what the pool holds to the end, and only where work is thrown away."""
    preempted, finished = case.total(case.state.preemptions), case.total(case.state.finished)
    whole = _mean(case, "prompt_length") + _mean(case, "output_length")
    tokens = (case.limit("num_gpu_blocks") - 1) * case.limit("block_size")
    seats = math.floor(tokens / whole) if whole > 0 and math.isfinite(tokens) else 0
    running = case.mean(case.state.running_end)
    if seats < 1 or not preempted > THRASH * max(finished, 1.0) or not seats < running:
        return
    knob = "max_num_active_seqs" if case.has("max_num_active_seqs") else "max_num_seqs"
    yield turned(case, knob, seats, _SEATS.format(seats=seats), _SEATS_RISK, "stop_bleeding")


def _mean(case: Situation, name: str) -> float:
    histogram = getattr(case.state, name)
    count = case.total(histogram.count)
    return case.total(histogram.sum) / count if count > 0 else math.nan


def _shortage(case: Situation) -> float:
    """Requests that want to run over those that do."""
    running = case.mean(case.state.running_end)
    return (running + case.mean(case.state.waiting_end)) / running if running > 0 else math.nan

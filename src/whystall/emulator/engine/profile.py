"""How long a step takes: the coefficients of one model on one machine, and the formula over them."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import Literal, NamedTuple

import msgspec

from whystall.errors import UsageError

from .batch import Batch

USUAL_SHARE = 0.92  # of the GPU's memory without the flag, since 0.20 (vllm.md 6.2); profiles' blocks are of it
_PROFILED_BLOCK = 16  # tokens


class StepProfile(msgspec.Struct, frozen=True, kw_only=True):
    """Coefficients of the step time, in seconds a step, a token, a request or a token of context.

    T = max(host, gpu) + link where host work overlaps (asynchronous scheduling), host + gpu + link where it does not;
    gpu = max(floor, base + token * padded tokens) + attention; attention has its own terms for steps that only decode
    and for mixed ones, because one shared term costs a quarter of TPOT (method.md section 4).
    ``origin`` says how the numbers were got; ``error_ratio`` is their relative error as far as it is known.
    """

    name: str
    origin: Literal["recording", "data sheet"] = "recording"
    error_ratio: float = 0.05
    source: str = ""
    floor_s: float
    base_s: float = 0.0
    token_s: float
    host_s: float = 0.0
    host_request_s: float = 0.0
    host_mixed_s: float = 0.0  # host work of a step with prefill, which runs on piecewise CUDA graphs
    host_eager_s: float = 0.0  # host work of a step above the largest captured batch, which launches every kernel
    decode_base_s: float = 0.0
    decode_context_s: float = 0.0
    decode_request_s: float = 0.0
    mixed_base_s: float = 0.0
    mixed_context_s: float = 0.0
    mixed_request_s: float = 0.0
    pair_s: float = 0.0  # per new token and token of context before it, prefill attention
    link_s: float = 0.0
    link_token_s: float = 0.0
    front_s: float = 0.0  # before the engine: HTTP, tokenizing, hand-over
    front_token_s: float = 0.0
    back_s: float = 0.0  # after the step: detokenizing, hand-over
    max_graph_tokens: int = 0  # largest captured batch; 0 where steps run without CUDA graphs
    model: str = ""
    gpu: str = ""
    tensor_parallel: int = 1
    weights_bytes: float = 0.0  # per GPU
    kv_token_bytes: float = 0.0  # per GPU
    memory_bytes: float = 0.0  # per GPU
    kv_blocks: int = 0  # of 16 tokens, where the recording says so

    def scaled(self, **factors: float) -> StepProfile:
        """The profile with the named coefficients multiplied."""
        return msgspec.structs.replace(self, **{name: getattr(self, name) * by for name, by in factors.items()})

    def with_kv_cache_dtype(self, dtype: str) -> StepProfile:
        """With KV values of ``dtype``: in 8 bits they are half as many bytes, so that twice the tokens fit and attention
        that reads them takes half the time (vllm.md 6.2: half the traffic). Other names are the model's own 16 bits.
        """
        if not dtype.startswith("fp8"):
            return self
        halved = dict.fromkeys(("kv_token_bytes", "decode_context_s", "mixed_context_s"), 0.5)
        return msgspec.structs.replace(self.scaled(**halved), kv_blocks=2 * self.kv_blocks)

    def with_memory_share(self, share: float) -> StepProfile:
        """With the KV blocks that ``share`` of the GPU's memory leaves (--gpu-memory-utilization).

        Raises UsageError where it is no share, or nothing is left beside the weights.
        """
        if not 0 < share <= 1:
            raise UsageError(f"--gpu-memory-utilization: {share:g} is not in (0, 1]", "See vllm serve --help.")
        if not self.kv_blocks or not self.kv_token_bytes:
            return self
        more = (share - USUAL_SHARE) * self.memory_bytes / (self.kv_token_bytes * _PROFILED_BLOCK)
        if self.kv_blocks + more < 1:
            raise UsageError("No available memory for the cache blocks", "Raise --gpu-memory-utilization.")
        return msgspec.structs.replace(self, kv_blocks=int(self.kv_blocks + more))


@lru_cache(maxsize=8)
def capture_sizes(largest: int) -> tuple[int, ...]:
    """Batch sizes that have a CUDA graph: vllm.md section 5.5."""
    sizes = [1, 2, 4, *range(8, 256, 8), *range(256, largest + 1, 16)]
    return tuple(size for size in sizes if size <= largest)


def padded_tokens(tokens: int, largest: int) -> int:
    """Tokens that the model really computes: the next captured size, or as they are above the largest one."""
    if tokens >= largest or tokens <= 0:
        return tokens
    sizes = capture_sizes(largest)
    return sizes[bisect_left(sizes, tokens)] if tokens <= sizes[-1] else tokens


class Work(NamedTuple):
    """What a step has to compute. ``pairs`` is the sum over prefill chunks of tokens times the context they see."""

    tokens: int
    requests: int
    context: int
    pairs: float
    mixed: bool


def work_of(batch: Batch) -> Work:
    """The work of ``batch``; a chunk of one token counts as a decode."""
    requests = batch.decodes
    context = batch.decode_context
    pairs = 0.0
    mixed = False
    for _, tokens, before in batch.chunks:
        requests += 1
        if tokens == 1:
            context += before
        else:
            mixed = True
            pairs += tokens * (before + tokens / 2)
    return Work(batch.tokens, requests, context, pairs, mixed)


class DecodeLine(NamedTuple):
    """A step that only decodes takes ``fixed_s`` and ``context_s`` a token of context, but at least ``least_s``.

    For ``idle_s`` of them the GPU has nothing to do, because the host's work comes first.
    """

    fixed_s: float
    context_s: float
    least_s: float
    idle_s: float


class StepClock:
    """The formula over a profile that may change while the engine runs (faults change a rate, never a metric)."""

    def __init__(self, profile: StepProfile, overlap: bool) -> None:
        self.overlap = overlap
        self._last: tuple[Batch, Work] | None = None
        self.kernel_s = 0.0  # seconds for which the GPU had kernels, collectives included
        self.collective_s = 0.0  # of them, in collectives
        self.set(profile)

    def set(self, profile: StepProfile) -> None:
        self.profile = profile
        self._decode: dict[int, DecodeLine] = {}

    def seconds(self, batch: Batch) -> float:
        """Time of one step."""
        if not batch.chunks:
            line = self._decode.get(batch.decodes) or self.decode_line(batch.decodes)
            time = line.fixed_s + line.context_s * batch.decode_context
            self.kernel_s += time - line.idle_s
            self.collective_s += self.link(batch.decodes)
            return time if time > line.least_s else line.least_s
        work = self._work(batch)
        p = self.profile
        dense = max(p.floor_s, p.base_s + p.token_s * padded_tokens(work.tokens, p.max_graph_tokens))
        if work.mixed:
            attention = p.mixed_base_s + p.mixed_context_s * work.context + p.mixed_request_s * work.requests
            attention += p.pair_s * work.pairs
        else:
            attention = p.decode_base_s + p.decode_context_s * work.context + p.decode_request_s * work.requests
        host = self._host_of(work)
        gpu = dense + attention
        link = self.link(work.tokens)
        self.kernel_s += gpu + link
        self.collective_s += link
        return (max(host, gpu) if self.overlap else host + gpu) + link

    def launch(self, batch: Batch) -> float:
        """Seconds for which launching a batch with prefill keeps the engine's only thread; 0 with several GPUs."""
        return self._host_of(self._work(batch)) if self.profile.tensor_parallel == 1 else 0.0

    def _work(self, batch: Batch) -> Work:
        if self._last is None or self._last[0] is not batch:
            self._last = batch, work_of(batch)
        return self._last[1]

    def _host_of(self, work: Work) -> float:
        host = self.host(work.requests)
        if work.tokens > self.profile.max_graph_tokens:
            return max(host, self.profile.host_eager_s)
        return max(host, self.profile.host_mixed_s) if work.mixed else host

    def decode_line(self, requests: int) -> DecodeLine:
        """Steps of ``requests`` that only decode."""
        line = self._decode.get(requests)
        if line is None:
            p = self.profile
            dense = max(p.floor_s, p.base_s + p.token_s * padded_tokens(requests, p.max_graph_tokens))
            fixed = dense + p.decode_base_s + p.decode_request_s * requests + self.link(requests)
            host = self.host(requests)
            if self.overlap:
                line = DecodeLine(fixed, p.decode_context_s, host + self.link(requests), 0.0)
            else:
                line = DecodeLine(fixed + host, p.decode_context_s, 0.0, host)
            self._decode[requests] = line
        return line

    def host(self, requests: int) -> float:
        return self.profile.host_s + self.profile.host_request_s * requests

    def link(self, tokens: int) -> float:
        return self.profile.link_s + self.profile.link_token_s * tokens

"""Flags as changes of the emulated engine. What it cannot express is said by name, with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec
import numpy as np

from whystall.emulator.profiles.datasheet import datasheet_profile, parse_name
from whystall.errors import UsageError
from whystall.model.engine_state import EngineState
from whystall.model.text import Text
from whystall.remedies.knobs import knobs
from whystall.remedies.pool import block_bytes, blocks_without_override
from whystall.remedies.rules import setup_of
from whystall.remedies.setup import Setup

from .load import sharing, within_length
from .split import over_ranks, overlapped, with_graphs, without_graphs
from .subject import LEAST_SEATS, Subject
from .variant import Variant

Expressed = Variant | Text  # a text says why it cannot be expressed
Express = Callable[[Subject, Variant, Setup], Expressed]
_CAPTURED = 512  # vllm.md 5.5
_FP8_READS = (0.5, 0.8)  # of the time that reading 16-bit KV takes: half the bytes, and some work to widen them
_GB = 1024**3

_NO_DEFAULT = Text(
    "the value without the flag depends on the device, and nothing tells it", "去掉参数后的默认值取决于设备，无从得知"
)
_SEATS = Text(
    "without --max-num-seqs the seats depend on the GPU: the least of the defaults, {seats}, is taken",
    "去掉 --max-num-seqs 后席位数取决于 GPU：按最小默认值 {seats} 计算",
)
_BYTES = Text(
    "how many bytes a KV block takes is not known: give the server's log (--log)",
    "不知道一个 KV 块占多少字节：请提供服务器日志（--log）",
)
_FIXED = Text(
    "the number of blocks stays as --num-gpu-blocks-override sets it", "块数仍由 --num-gpu-blocks-override 决定"
)
_UNSEEN_PREFIX = Text(
    "what prompts share does not show while prefix caching is off", "前缀缓存关闭时看不到提示词共享了多少"
)
_PRIORITIES = Text(
    "no request is known to carry a priority: without them the order stays first come, first served",
    "未见任何请求带优先级：若不带，则仍为先到先服务",
)
_ALONE = Text("no version of the V1 engine starts with another value than 1", "V1 引擎不接受 1 以外的值")
_NO_GRAPHS = Text("there are no CUDA graphs on this device", "该设备没有 CUDA graph")
_LAUNCHES = Text(
    "how long this machine takes to launch a step kernel by kernel is not known",
    "不知道该机器逐个启动一步的内核需要多久",
)
_MACHINE = Text(
    "the GPU or the model is not one whose data sheet is known, so its links' costs are not either",
    "GPU 或模型不在已知数据表中，链路开销也无从得知",
)
_TOO_SMALL = Text(
    "one request of max_model_len {length} needs more KV blocks than the {blocks} that there would be: it would not start",
    "一个 max_model_len {length} 的请求所需 KV 块超过将有的 {blocks} 个：无法启动",
)
_WIDE = Text("scaled by data sheets: the error is wide", "按数据表折算：误差较大")
_KINDS = Text("KV in 8 bits changes what is generated: check the answers", "8 位 KV 会改变生成内容：请检查回答质量")
_GENERIC = Text("the emulated engine has no part that {flag} changes", "仿真引擎中没有 {flag} 所改变的部分")


def whole(option: str) -> Express:
    """A knob that is an option of the engine by its own name."""

    def express(subject: Subject, variant: Variant, after: Setup) -> Expressed:
        value = after.number(option)
        if value is None and option == "max_num_seqs" and subject.state.configuration.device != "cpu":
            return variant.with_options(max_num_seqs=LEAST_SEATS).warned(_SEATS.format(seats=LEAST_SEATS))
        if value is None:
            return _NO_DEFAULT if option in ("max_num_seqs", "max_num_batched_tokens") else _unset(variant, option)
        return variant.with_options(**{option: int(value)})

    return express


def _unset(variant: Variant, option: str) -> Variant:
    return variant.with_options(**{option: 0 if option == "long_prefill_token_threshold" else None})


def switch(option: str) -> Express:
    def express(_: Subject, variant: Variant, after: Setup) -> Expressed:
        return variant.with_options(**{option: after.on(option) is not False})

    return express


def watermark(_: Subject, variant: Variant, after: Setup) -> Expressed:
    return variant.with_options(watermark=after.number("watermark") or 0.0)


def budget(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    found = whole("max_num_batched_tokens")(subject, variant, after)
    if isinstance(found, Variant) and after.floats("max_num_seqs"):  # seats that nobody set shrink with it
        seats = min(variant.options.max_num_seqs, found.options.max_num_batched_tokens)
        found = found.with_options(max_num_seqs=seats)
    limit = variant.options.max_num_scheduled_tokens
    if isinstance(found, Variant) and limit is not None and limit > found.options.max_num_batched_tokens:
        return found.with_options(max_num_scheduled_tokens=None)
    return found


def chunked(_: Subject, variant: Variant, after: Setup) -> Expressed:
    on = after.on("enable_chunked_prefill") is not False
    options = variant.options
    tokens = options.max_num_batched_tokens
    if not on and after.floats("max_num_batched_tokens"):
        tokens = max(tokens, options.max_model_len)
    return variant.with_options(enable_chunked_prefill=on, max_num_batched_tokens=tokens)


def prefix_caching(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    on = after.on("enable_prefix_caching") is not False
    if on and not subject.options.enable_prefix_caching:
        share = _shared_before(subject.state)
        if not math.isfinite(share):
            return _UNSEEN_PREFIX
        variant = variant.under(lambda load: sharing(load, share))
    return variant.with_options(enable_prefix_caching=on)


def _shared_before(state: EngineState) -> float:
    """The share of the prompts that the cache had before a restart switched it off; NaN where that was not seen."""
    if not state.restarts:
        return math.nan
    before = state.t_end - state.t_start[0] <= state.restarts[-1]
    asked = float(np.nansum(state.prefix_queries[before]))
    return float(np.nansum(state.prefix_hits[before])) / asked if asked > 0 else math.nan


def policy(_: Subject, variant: Variant, after: Setup) -> Expressed:
    chosen = "priority" if after.text("scheduling_policy") == "priority" else "fcfs"
    changed = variant.with_options(scheduling_policy=chosen)
    return changed.warned(_PRIORITIES) if chosen == "priority" else changed


def model_length(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    length = after.number("max_model_len")
    if not length:
        return _NO_DEFAULT
    changed = variant.with_options(max_model_len=int(length))
    if length >= subject.options.max_model_len:
        return changed
    return changed.under(lambda load: within_length(load, int(length)))


# -- the KV pool


def override(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    value = after.number("num_gpu_blocks_override") or blocks_without_override(subject.case)
    return variant.with_options(num_gpu_blocks=int(value)) if math.isfinite(value) and value >= 1 else _BYTES


def memory_share(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    if after.number("num_gpu_blocks_override") or after.number("kv_cache_memory_bytes"):
        return variant.warned(_FIXED)
    gpu, known, was = subject.state.gpu, subject.machine.known, subject.case.limit("gpu_memory_utilization")
    total = gpu.mem_total_bytes if gpu and gpu.mem_total_bytes > 0 else known.memory_bytes if known else math.nan
    share, size = after.number("gpu_memory_utilization"), bytes_of_block(subject)
    more = (share - was) * total / size if share else math.nan
    if not math.isfinite(more):
        return _BYTES
    return variant.with_options(num_gpu_blocks=max(int(variant.options.num_gpu_blocks + more), 1))


def bytes_of_block(subject: Subject) -> float:
    """Bytes of a KV block on one GPU, by the log or by the model's data sheet; NaN where neither tells."""
    size, known = block_bytes(subject.case), subject.machine.known
    if math.isfinite(size) or known is None or not known.kv_token_bytes:
        return size
    return known.kv_token_bytes * subject.options.block_size


def pool_bytes(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    if after.number("num_gpu_blocks_override"):
        return variant.warned(_FIXED)
    blocks = (after.number("kv_cache_memory_bytes") or math.nan) / bytes_of_block(subject)
    return variant.with_options(num_gpu_blocks=max(int(blocks), 1)) if math.isfinite(blocks) else _BYTES


def kv_dtype(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    was, becomes = (_kv_bits(setup.text("kv_cache_dtype")) for setup in (subject.case.setup, after))
    if not was or not becomes:
        return _GENERIC.format(flag="--kv-cache-dtype")
    if was == becomes:
        return variant
    fixed = after.number("num_gpu_blocks_override")
    blocks = variant.options.num_gpu_blocks * (
        1 if fixed else was // becomes if was > becomes else 1 / (becomes // was)
    )
    changed = variant.with_options(num_gpu_blocks=int(blocks))
    if becomes < was:
        names = ("decode_context_s", "mixed_context_s")
        changed = changed.then(lambda p, d: p.scaled(**dict.fromkeys(names, d.uniform("fp8 reads", *_FP8_READS))))
    changed = changed.warned(_KINDS)
    return changed.warned(_FIXED) if fixed else changed


def _kv_bits(dtype: str | None) -> int:
    word = (dtype or "auto").removeprefix("torch.")
    return 16 if word in ("auto", "bfloat16", "float16") else 8 if word.startswith("fp8") else 0


def block_size(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    size = int(after.number("block_size") or 16)
    tokens = variant.options.num_gpu_blocks * variant.options.block_size
    blocks = variant.options.num_gpu_blocks if after.number("num_gpu_blocks_override") else tokens // size
    return variant.with_options(block_size=size, num_gpu_blocks=blocks)


# -- the step


def overlap(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    on = after.on("async_scheduling") is not False
    now = subject.options.async_scheduling
    if on == now:
        return variant
    machine = subject.machine
    return variant.with_options(async_scheduling=on).then(lambda p, d: overlapped(p, d, machine.like(d.number), now))


def eager(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    if subject.state.configuration.device == "cpu":
        return _NO_GRAPHS
    on, known, now = after.on("enforce_eager") is True, subject.machine.known, subject.options.async_scheduling
    if on == (subject.machine.profile.max_graph_tokens == 0):
        return variant
    if not on:
        like = subject.machine.like
        return variant.then(lambda p, d: with_graphs(p, d, like(d.number), now, _CAPTURED))
    if known is None or not known.host_eager_s:
        return _LAUNCHES
    launches = known.host_eager_s
    return variant.then(lambda p, d: without_graphs(p, d, launches)).warned(_WIDE)


def captures(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    largest = int(after.number("max_cudagraph_capture_size") or _CAPTURED)
    if subject.machine.profile.max_graph_tokens == 0:
        return _NO_GRAPHS
    return variant.then(lambda p, _: msgspec.structs.replace(p, max_graph_tokens=largest))


def ranks(subject: Subject, variant: Variant, after: Setup) -> Expressed:
    known = subject.machine.known
    was, count = subject.state.configuration.tensor_parallel or 1, int(after.number("tensor_parallel_size") or 1)
    machine = parse_name(f"{known.gpu}-{known.model}" + (f"-tp{count}" if count > 1 else "")) if known else None
    before = parse_name(f"{known.gpu}-{known.model}" + (f"-tp{was}" if was > 1 else "")) if known else None
    if machine is None or before is None:
        return _MACHINE
    wider, narrower = datasheet_profile(machine), datasheet_profile(before)
    blocks = variant.options.num_gpu_blocks
    if not after.number("num_gpu_blocks_override") and narrower.kv_blocks:
        blocks = int(blocks * wider.kv_blocks / narrower.kv_blocks)
    changed = variant.with_options(num_gpu_blocks=max(blocks, 1))
    changed = changed.then(lambda p, d: over_ranks(p, d, count / was, wider, was > 1))
    return msgspec.structs.replace(changed, spread=0.15).warned(_WIDE)


def alone(_: Subject, _variant: Variant, _after: Setup) -> Expressed:
    return _ALONE


EXPRESSED: dict[str, Express] = {
    "max_num_seqs": whole("max_num_seqs"),
    "max_num_batched_tokens": budget,
    "max_num_scheduled_tokens": whole("max_num_scheduled_tokens"),
    "max_num_active_seqs": whole("max_num_active_seqs"),
    "max_num_queued_reqs": whole("max_num_queued_reqs"),
    "max_num_queued_tokens": whole("max_num_queued_tokens"),
    "long_prefill_token_threshold": whole("long_prefill_token_threshold"),
    "long_prefill_token_threshold_adaptive": switch("long_prefill_token_threshold_adaptive"),
    "scheduler_reserve_full_isl": switch("scheduler_reserve_full_isl"),
    "watermark": watermark,
    "enable_chunked_prefill": chunked,
    "enable_prefix_caching": prefix_caching,
    "scheduling_policy": policy,
    "max_model_len": model_length,
    "num_gpu_blocks_override": override,
    "gpu_memory_utilization": memory_share,
    "kv_cache_memory_bytes": pool_bytes,
    "kv_cache_dtype": kv_dtype,
    "block_size": block_size,
    "async_scheduling": overlap,
    "enforce_eager": eager,
    "max_cudagraph_capture_size": captures,
    "tensor_parallel_size": ranks,
    "max_num_partial_prefills": alone,
}

# Why others are not predicted, where there is more to say than that the engine's model has no such part.
_BECAUSE = {
    "speculative_config": Text(
        "how many drafted tokens would be accepted is not known", "不知道草稿 token 会被接受多少"
    ),
    "quantization": Text("other kernels, whose speed is not known", "内核不同，速度未知"),
    "attention_backend": Text("other kernels, whose speed is not known", "内核不同，速度未知"),
    "api_server_count": Text(
        "the front end's processes are not part of the engine's model", "前端进程不在引擎模型之内"
    ),
    "data_parallel_size": Text(
        "ask for it as replicas (--assume replicas=N): of a dense model it is that",
        "请用副本数询问（--assume replicas=N）：对稠密模型等同",
    ),
}


def expressed(subject: Subject, changes: Mapping[str, str]) -> Expressed:
    """The server with ``changes`` (flags or knob ids to values), or why the emulator cannot express one of them."""
    after = setup_of(subject.state.configuration, changes)
    variant = Variant(subject.options)
    for knob in after.changes:
        express = EXPRESSED.get(knob)
        found = express(subject, variant, after) if express else because(knob)
        if isinstance(found, Text):
            return found
        variant = found
    return _checked(variant)


def because(knob: str) -> Text:
    """Why the emulator cannot express ``knob``."""
    for prefix in ("spec_",):
        if knob.startswith(prefix):
            knob = "speculative_config"
    entry = knobs().get(knob)
    flag = entry.spellings[0].flag if entry else knob
    return _BECAUSE.get(knob) or _GENERIC.format(flag=flag)


def _checked(variant: Variant) -> Expressed:
    try:
        variant.options.check()
    except UsageError as error:
        options = variant.options
        if "more KV blocks" in error.message:
            return _TOO_SMALL.format(length=options.max_model_len, blocks=options.num_gpu_blocks - 1)
        return Text(error.message)
    return variant

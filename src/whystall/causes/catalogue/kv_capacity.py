"""The KV-cache pool is too small for what is resident."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import MORE_CAME, seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="kv_capacity",
    title=Text(
        "KV cache too small",
        "KV 缓存不足",
    ),
    what=Text(
        "The pool of KV blocks cannot hold the sequences that want to run. A prompt is admitted only when it fits "
        "whole, so requests wait while blocks are short, and decoding sequences that need one more block push others "
        "out (preemption by recompute).",
        "KV 块池放不下想要运行的序列。提示只有在整体放得下时才会被准入，因此块不足时请求会等待；"
        "解码中的序列需要新块时会把别的序列挤出（重算式抢占）。",
    ),
    predicts=Text(
        "Free blocks under a typical prompt while requests wait, or preemptions; running below the seat cap; ITL of "
        "the others normal.",
        "有排队时剩余块少于一个典型提示，或出现抢占；运行数低于席位上限；其他请求 ITL 正常。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "compute.full": -2.0,  # more blocks would admit more prompts to a device that has no time for them
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "kv.saturated": 4.0,  # free blocks against a typical prompt is the mechanism itself
        "kv.preemptions": 2.0,  # only the pool makes V1 preempt
        "log.preempted": 1.5,  # V0 says so in its log
        "queue.delay": 1.0,  # who is not admitted waits
        "prompts.victims": -3.0,  # the short ones would fit: they wait behind one giant
        "seats.full": -2.0,  # a full seat table explains the queue without blocks
        "queue.refused": -1.0,  # refused requests hold no blocks
        "step.residual": -3.0,  # who is served more slowly holds blocks for longer: the same load had room before
    },
    links=(
        Link(
            Text(
                "Requests wait before they run: {queue_delay}",
                "请求在运行前排队：{queue_delay}",
            ),
            (Need("queue.delay"),),
            optional=True,
        ),
        Link(
            Text(
                "The next prompt does not fit: {kv_saturated}",
                "下一个提示放不下：{kv_saturated}",
            ),
            (Need("kv.saturated"),),
            rejects=Text(
                "a full seat table or token budget: blocks are what is missing",
                "席位或 token 预算已满：缺的是块",
            ),
        ),
        Link(
            Text(
                "Sequences are pushed out and computed again: {kv_preemptions}",
                "序列被挤出并重算：{kv_preemptions}",
            ),
            (Need("kv.preemptions"),),
            rejects=Text(
                "a pool that is full and at peace, as prefix caching leaves it",
                "前缀缓存留下的、已满但平静的块池",
            ),
            optional=True,
        ),
        Link(
            Text(
                "The demand grew with the prompts: {prompts_longer}",
                "需求随提示变长而增长：{prompts_longer}",
            ),
            (Need("prompts.longer"),),
            optional=True,
        ),
        MORE_CAME,
    ),
    numbers=(
        Text(
            "blocks short in {kv_saturated:.0%} of the wait",
            "{kv_saturated:.0%} 的排队时间缺块",
        ),
    ),
    first_step=Text(
        "Give the pool more bytes (fp8 KV cache after an accuracy check, a higher memory share where free memory "
        "allows, more GPUs) or admit less work; a smaller token budget does not help.",
        "给块池更多字节（经精度检查后使用 fp8 KV、在有空闲显存时提高显存占比、增加 GPU），或减少准入的工作；调小 "
        "token 预算没有帮助。",
    ),
    look_alikes=(
        LookAlike(
            "seat_cap",
            Text(
                "running equals max_num_seqs and blocks are free",
                "运行数等于 max_num_seqs 且块有余",
            ),
        ),
        LookAlike(
            "token_budget",
            Text(
                "steps are full of prompt tokens and blocks are free",
                "每步被提示 token 填满且块有余",
            ),
        ),
        LookAlike(
            "head_of_line_prompt",
            Text(
                "the queue is short requests behind one giant prompt",
                "队列是一个巨型提示后面的短请求",
            ),
        ),
    ),
    limit="num_gpu_blocks",
    hurts_as=("queue", "itl"),
    restart=True,
    order=1,
    settled_by=("metrics",),
)

CAUSE = seen_in_contrast(CAUSE, "kv")

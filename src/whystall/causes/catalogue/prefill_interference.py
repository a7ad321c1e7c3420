"""Prefills of long prompts stretch the steps that decoding requests share."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import seen_in_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="prefill_interference",
    title=Text(
        "Prefill stalls decoding",
        "预填充拖慢解码",
    ),
    what=Text(
        "A step lasts as long as its tokens. Long prompts in big chunks make steps of hundreds of milliseconds, and "
        "every decoding request gets one token a step.",
        "一步的时长取决于其 token 数。大块的长提示使单步达数百毫秒，而每个解码中的请求每步只得到一个 token。",
    ),
    predicts=Text(
        "Median ITL normal, mean and tail many times that, together with prompts; KV with room, no preemption.",
        "ITL 中位数正常，均值与尾部为其数倍，且与提示同时出现；KV 有余，无抢占。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "queue.delay": -1.0,  # a queue for prefill is a shortage of it first
        "cpu.throttled": -2.5,  # pauses of the quota stretch steps, too
        "gpu.held_down": -2.0,  # so does a slow clock
        "step.host_gap": -2.0,  # prompts keep the GPU busy
        "itl.mixed_steps": 5.0,  # the excess over decode-only steps, together with prompts, is the mechanism
        "step.residual": -2.0,  # steps that are longer than their prompts explain have another reason
        "kv.preemptions": -3.0,  # preempted requests freeze, too
        "progress.stalled": -3.0,  # a standstill is not a long step
        "queue.growing": -0.7,  # with more prompts than it can take, capacity comes first
        "batch.growing": -8.0,  # where more come than finish, smaller chunks move the loss and end none of it
        "peers.load": -3.0,  # it gets more than its share: that is the balancer's doing
        "peers.room": -2.0,  # and the others could have taken it
        "prefix.lost": -1.5,  # the lost cache made the prompts long to compute
        "kv.saturated": -1.0,  # short of blocks, recompute fills the steps
    },
    links=(
        Link(
            Text(
                "Tokens come late: {itl_mixed_steps}",
                "token 来得慢：{itl_mixed_steps}",
            ),
            (Need("itl.mixed_steps"),),
            rejects=Text(
                "slow decoding as such: steps without prompts are as fast as ever",
                "解码本身慢：不含提示的步一如既往地快",
            ),
        ),
        Link(
            Text(
                "No request was pushed out: {kv_preemptions}",
                "没有请求被挤出：{kv_preemptions}",
            ),
            (Need("kv.preemptions", 0.3, below=True),),
            rejects=Text(
                "preemption, which also freezes single requests",
                "抢占，它也会让单个请求停顿",
            ),
            optional=True,
        ),
    ),
    numbers=(
        Text(
            "ITL {itl_mixed_steps:.1f} times the usual",
            "ITL 为平常的 {itl_mixed_steps:.1f} 倍",
        ),
    ),
    first_step=Text(
        "Bound the chunk: a smaller --max-num-batched-tokens or --long-prefill-token-threshold (and chunked prefill "
        "on) trades TTFT of long prompts for ITL of all.",
        "限制分块：更小的 --max-num-batched-tokens 或 --long-prefill-token-threshold（并启用分块预填充），以长提示的 "
        "TTFT 换取全体的 ITL。",
    ),
    look_alikes=(
        LookAlike(
            "prefill_bound",
            Text(
                "requests queue for prefill and the queue grows",
                "请求为预填充排队且队列增长",
            ),
        ),
        LookAlike(
            "kv_capacity",
            Text(
                "preemptions freeze single requests",
                "抢占使单个请求停顿",
            ),
        ),
    ),
    limit="max_num_batched_tokens",
    hurts_as=("itl",),
    restart=True,
    order=3,
    settled_by=("metrics",),
)

CAUSE = seen_in_contrast(CAUSE, "prompts")

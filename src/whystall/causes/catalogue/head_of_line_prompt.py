"""Short requests wait behind one giant prompt."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="head_of_line_prompt",
    title=Text(
        "A giant prompt at the head of the line",
        "巨型提示堵在队首",
    ),
    what=Text(
        "The queue is strictly first come, first served for capacity: a prompt that fills many steps, or does not "
        "fit yet, holds up everybody behind it.",
        "在容量上队列严格先来先服务：一个占满许多步、或暂时放不下的提示会挡住后面的所有人。",
    ),
    predicts=Text(
        "Longest prompt many times the median; short requests share its delay; the queue drains between; prefill is "
        "not busy on average.",
        "最长提示是中位数的许多倍；短请求共担其延迟；其间队列会清空；平均而言预填充并不繁忙。",
    ),
    role="limit",
    bias=-4.5,
    weights={
        "progress.frozen": -4.0,  # a frozen engine admits nobody, whatever the limit
        "prompts.giant": 2.0,  # one prompt holds many others ones worth of steps
        "prompts.victims": 4.0,  # several requests share the delay of each giant
        "queue.delay": 1.0,  # who is behind waits
        "prefill.busy": -1.0,  # busy all the time, capacity is short for all
        "kv.preemptions": -1.5,  # the pool is short for all
        "seats.full": -2.0,  # seats are short for all
    },
    links=(
        Link(
            Text(
                "Some prompts are giants: {prompts_giant}",
                "有些提示极长：{prompts_giant}",
            ),
            (Need("prompts.giant"),),
        ),
        Link(
            Text(
                "Others share their delay: {prompts_victims}",
                "其他请求共担其延迟：{prompts_victims}",
            ),
            (Need("prompts.victims"),),
            rejects=Text(
                "a general shortage of prefill: that would delay the giants alone or everybody alike",
                "预填充普遍不足：那会只拖慢巨型提示，或拖慢所有人",
            ),
        ),
    ),
    numbers=(
        Text(
            "{prompts_victims:one other late|# others late} for each",
            "每个拖慢另外 {prompts_victims:.0f} 个",
        ),
    ),
    first_step=Text(
        "Cap one request's chunk with --long-prefill-token-threshold, or send giants to a replica of their own.",
        "用 --long-prefill-token-threshold 限制单个请求的分块，或把巨型提示送到单独的副本。",
    ),
    look_alikes=(
        LookAlike(
            "burst",
            Text(
                "prompts are of similar length",
                "提示长度相近",
            ),
        ),
        LookAlike(
            "prefill_bound",
            Text(
                "prefill is busy all the time",
                "预填充始终繁忙",
            ),
        ),
        LookAlike(
            "kv_capacity",
            Text(
                "all prompts are short of blocks",
                "所有提示都缺块",
            ),
        ),
    ),
    limit="long_prefill_token_threshold",
    hurts_as=("queue",),
    restart=True,
    order=3,
    settled_by=("client", "spans"),
)

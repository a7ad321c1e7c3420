"""Requests wait for their grammars."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import REQUESTS_WAIT, SET_ASIDE, shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="structured_output",
    title=Text(
        "Structured output",
        "结构化输出",
    ),
    what=Text(
        "A JSON schema or grammar is compiled before its request may run, and its mask is made at every step; "
        "requests are set aside meanwhile.",
        "JSON schema 或语法需先编译请求才能运行，且每步都要生成掩码；其间请求被搁置。",
    ),
    predicts=Text(
        "Waiting requests marked deferred without LoRA or a KV connector; capacity free.",
        "在没有 LoRA 或 KV 连接器时等待的请求被标为 deferred；容量有余。",
    ),
    role="limit",
    bias=-3.0,
    weights={
        "contrast.structured_output": 7.0,  # the same load without it is better: no observation says more
        "queue.deferred": 4.5,  # set aside is what the scheduler does with them
        "config.transfer": -3.0,  # a KV connector sets requests aside, too
        "config.lora": -4.0,  # adapters that are waited for look the same
        "queue.delay": 1.0,  # who is set aside waits
    },
    links=(
        REQUESTS_WAIT,
        SET_ASIDE,
        Link(
            Text(
                "No adapter is waited for: {config_lora}",
                "并非等待适配器：{config_lora}",
            ),
            (Need("config.lora", -0.5, below=True),),
            rejects=Text(
                "LoRA swapping",
                "LoRA 换入换出",
            ),
            if_seen=True,  # where adapters may be waited for, nothing tells a grammar from them
        ),
    ),
    other_links=(shown_by_contrast("structured_output"),),
    numbers=(
        Text(
            "{queue_deferred:.0%} of the queue set aside",
            "队列的 {queue_deferred:.0%} 被搁置",
        ),
        Text(
            "{contrast_structured_output:~2} times worse with it than without",
            "使用时比不使用差 {contrast_structured_output:~2} 倍",
        ),
    ),
    first_step=Text(
        "Send few distinct schemas (they are cached by text), simplify large ones, and try another structured-output "
        "backend.",
        "减少不同 schema 的数量（按文本缓存），简化大型 schema，并尝试其他结构化输出后端。",
    ),
    look_alikes=(
        LookAlike(
            "lora_swapping",
            Text(
                "LoRA is on",
                "已启用 LoRA",
            ),
        ),
        LookAlike(
            "kv_capacity",
            Text(
                "blocks are short, none is set aside",
                "缺块，但没有被搁置",
            ),
        ),
    ),
    hurts_as=("queue", "contrast"),
    order=1,
    settled_by=("metrics", "config"),
)

"""More adapters are asked for than fit at once."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import REQUESTS_WAIT, SET_ASIDE, shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="lora_swapping",
    title=Text(
        "LoRA adapters swap",
        "LoRA 适配器换入换出",
    ),
    what=Text(
        "A batch holds at most max_loras distinct adapters; requests for others are set aside until one leaves, and "
        "a cold adapter is loaded first.",
        "一个批次最多容纳 max_loras 个不同适配器；其余请求被搁置直到有适配器离开，冷适配器还需先加载。",
    ),
    predicts=Text(
        "Waiting requests marked deferred with LoRA on; seats, blocks and budget free.",
        "启用 LoRA 时等待的请求被标为 deferred；席位、块与预算有余。",
    ),
    role="limit",
    bias=-3.0,
    weights={
        "contrast.lora": 7.0,  # the same load without it is better: no observation says more
        "queue.deferred": 4.0,  # set aside is what the scheduler does with them
        "config.lora": 2.5,  # adapters are what it waits for
        "config.transfer": -1.5,  # a KV connector sets requests aside, too
        "queue.delay": 1.0,  # who is set aside waits
        "seats.full": -1.0,  # full seats explain the wait
    },
    links=(
        REQUESTS_WAIT,
        SET_ASIDE,
        Link(
            Text(
                "Adapters are in use: {config_lora}",
                "正在使用适配器：{config_lora}",
            ),
            (Need("config.lora"),),
            rejects=Text(
                "a grammar or a remote KV cache",
                "语法编译或远端 KV 缓存",
            ),
        ),
    ),
    other_links=(shown_by_contrast("lora"),),
    numbers=(
        Text(
            "{queue_deferred:.0%} of the queue set aside",
            "队列的 {queue_deferred:.0%} 被搁置",
        ),
        Text(
            "{contrast_lora:~2} times worse with it than without",
            "使用时比不使用差 {contrast_lora:~2} 倍",
        ),
    ),
    first_step=Text(
        "Raise --max-loras to the adapters in use at once, or route each adapter to its own replica.",
        "把 --max-loras 提高到同时使用的适配器数，或把每个适配器路由到固定副本。",
    ),
    look_alikes=(
        LookAlike(
            "structured_output",
            Text(
                "LoRA is off",
                "未启用 LoRA",
            ),
        ),
        LookAlike(
            "seat_cap",
            Text(
                "none is set aside",
                "没有被搁置的请求",
            ),
        ),
    ),
    hurts_as=("queue", "contrast"),
    order=1,
    restart=True,
    settled_by=("metrics", "config"),
)

"""--kv-offloading-size: host memory for prefixes that are pushed out."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Spelling

KNOB = Knob(
    id="kv_offloading_size",
    group="kv",
    kind="number",
    what=Text(
        "GiB of host memory, over all TP ranks, for prefix blocks that leave the GPU.",
        "用于存放离开 GPU 的前缀块的主机内存（GiB，所有 TP rank 合计）。",
    ),
    spellings=(Spelling("--kv-offloading-size", since="0.11.2"),),
    defaults=(Default("None"),),
    legal=Legal(low=0, low_open=True),
    up=Text(
        "Conversations that come back find their prefix: a better TTFT. Running requests must still be on the GPU.",
        "再次到来的会话能找到其前缀：TTFT 更好。运行中的请求仍必须在 GPU 上。",
    ),
    raising={"ttft": "better", "memory": "worse"},
    folk=(
        Folk(
            ("kv_capacity",),
            Text("offload the KV cache to host memory", "把 KV 缓存卸载到主机内存"),
            Text(
                "it keeps prefixes, it adds no room for running requests", "它保存的是前缀，不会给运行中的请求增加空间"
            ),
        ),
    ),
)

"""--kv-cache-memory-bytes: the KV pool in bytes."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="kv_cache_memory_bytes",
    group="kv",
    kind="whole",
    what=Text(
        "Bytes of the KV pool on each GPU; gpu_memory_utilization no longer sizes it.",
        "每块 GPU 上 KV 池的字节数；gpu_memory_utilization 不再决定其大小。",
    ),
    spellings=(Spelling("--kv-cache-memory-bytes", since="0.10.2"),),
    defaults=(Default("None"),),
    legal=Legal(low=1),
    up=Text(
        "Exactly so much more pool; nothing checks that it fits beside the rest.",
        "块池精确增大相应字节；但不检查是否与其余部分相容。",
    ),
    raising={"kv": "better", "ttft": "better", "memory": "worse"},
    treats=(Treatment("kv_capacity", "raise"),),
)

"""--block-size: tokens a KV block."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Spelling

KNOB = Knob(
    id="block_size",
    group="kv",
    kind="whole",
    what=Text(
        "Tokens in a KV block; the attention backend says which sizes it takes.",
        "一个 KV 块的 token 数；可用大小由注意力后端决定。",
    ),
    spellings=(Spelling("--block-size"),),
    defaults=(
        Default(
            "16",
            Text("most CUDA backends (FlashMLA 64, CutlassMLA 128)", "多数 CUDA 后端（FlashMLA 64，CutlassMLA 128）"),
        ),
        Default("128", Text("CPU")),
    ),
    legal=Legal(low=1),
    up=Text(
        "Less bookkeeping; up to a block less one token a request is unused, and prefixes are found in coarser pieces.",
        "簿记更少；每个请求最多浪费一个块减一个 token，前缀命中更粗。",
    ),
    raising={"cpu": "better", "kv": "worse"},
    folk=(
        Folk(
            ("decode_bandwidth",),
            Text("tune block_size against fragmentation", "调 block_size 以减少碎片"),
            Text(
                "blocks are paged: at most one block less a token is lost a request",
                "块是分页的：每个请求最多浪费不到一个块",
            ),
        ),
    ),
)

"""--decode-context-parallel-size: KV shared out over ranks."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Rule, Spelling, Treatment
from whystall.remedies.relation import divides

KNOB = Knob(
    id="decode_context_parallel_size",
    group="parallel",
    kind="whole",
    what=Text(
        "Shares the KV cache out over tensor-parallel ranks that would hold copies of it (MLA, few KV heads).",
        "把张量并行各 rank 重复持有的 KV 缓存分摊开（MLA、KV 头少时）。",
    ),
    spellings=(Spelling("--decode-context-parallel-size", since="0.11.0"), Spelling("-dcp", since="0.11.0")),
    defaults=(Default("1"),),
    legal=Legal(low=1),
    needs=(
        Rule(
            "context_ranks_divide",
            Text(
                "tensor_parallel_size must be a multiple of decode_context_parallel_size",
                "tensor_parallel_size 必须是 decode_context_parallel_size 的倍数",
            ),
            divides("decode_context_parallel_size", "tensor_parallel_size"),
        ),
    ),
    up=Text(
        "More tokens in the pool, more communication in each decode step.", "池中 token 更多，每个解码步通信更多。"
    ),
    raising={"kv": "better", "itl": "either"},
    treats=(Treatment("kv_capacity", "raise"),),
)

"""--tensor-parallel-size: GPUs that share each layer."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Rule, Spelling, Treatment
from whystall.remedies.relation import divides, product_at_most

KNOB = Knob(
    id="tensor_parallel_size",
    group="parallel",
    kind="whole",
    what=Text(
        "GPUs that share every layer; two all-reduces a layer and step.",
        "共享每一层的 GPU 数；每层每步两次 all-reduce。",
    ),
    spellings=(Spelling("--tensor-parallel-size"), Spelling("-tp")),
    defaults=(Default("1"),),
    legal=Legal(low=1),
    needs=(
        Rule(
            "heads_divide",
            Text(
                "the model's attention heads must be a multiple of tensor_parallel_size",
                "模型的注意力头数必须是 tensor_parallel_size 的倍数",
            ),
            divides("tensor_parallel_size", "num_attention_heads"),
        ),
        Rule(
            "gpus_are_there",
            Text(
                "tensor x pipeline parallel must not need more GPUs than there are",
                "张量并行 × 流水并行所需 GPU 不得多于现有数量",
            ),
            product_at_most(("tensor_parallel_size", "pipeline_parallel_size"), "gpus"),
        ),
    ),
    up=Text(
        "Weights and KV heads are divided (MLA's cache is not): more pool, faster steps, and communication in each layer. "
        "Keep it within NVLink.",
        "权重与 KV 头被均分（MLA 缓存除外）：块池更大，步更快，但每层都有通信。应限于 NVLink 范围内。",
    ),
    raising={"kv": "better", "itl": "either", "ttft": "better"},
    treats=(Treatment("kv_capacity", "raise"), Treatment("comm_bound", "lower")),
    folk=(
        Folk(
            ("comm_bound",),
            Text("spread the model over more GPUs to communicate less", "把模型分到更多 GPU 以减少通信"),
            Text(
                "tensor parallelism adds two all-reduces a layer; the fewest GPUs that fit communicate least",
                "张量并行每层增加两次 all-reduce；能放下的最少 GPU 通信最少",
            ),
        ),
    ),
)

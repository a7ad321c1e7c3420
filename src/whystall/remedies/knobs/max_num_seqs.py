"""--max-num-seqs: the seats."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="max_num_seqs",
    group="scheduler",
    kind="whole",
    what=Text("Most sequences that run at the same time: the seats.", "同时运行的序列上限，即席位数。"),
    spellings=(Spelling("--max-num-seqs"),),
    defaults=(
        Default("1024", Text("GPUs of 70 GiB and more, not A100", "70 GiB 及以上且非 A100 的 GPU")),
        Default("256", Text("other GPUs", "其他 GPU")),
        Default("128", Text("CPU, times the world size (LLM class: 256)", "CPU，乘以 world size（LLM 类：256）")),
    ),
    legal=Legal(low=1),
    up=Text(
        "More sequences decode together: throughput rises, ITL grows with the batch, the queue shrinks where seats bind; "
        "where KV blocks bind it brings more preemptions. Logits, sampler and graph captures take more memory.",
        "更多序列一起解码：吞吐上升，ITL 随批量增大，席位受限时排队缩短；KV 块受限时会带来更多抢占。"
        "logits、采样器与 graph 捕获占用更多显存。",
    ),
    down=Text(
        "A better ITL and fewer preemptions, and a longer queue.",
        "ITL 更好、抢占更少，但排队更长。",
    ),
    raising={"ttft": "better", "throughput": "better", "itl": "worse", "kv": "worse", "memory": "worse"},
    treats=(Treatment("seat_cap", "raise"), Treatment("kv_capacity", "lower")),
    folk=(
        Folk(
            ("seat_cap", "token_budget", "prefill_bound", "queue_limit", "overload"),
            Text("lower max_num_seqs to shorten the queue", "降低 max_num_seqs 以缩短排队"),
            Text(
                "it is the number of seats: with fewer of them more requests wait",
                "它就是席位数：席位越少，等待越多",
            ),
        ),
        Folk(
            ("kv_capacity",),
            Text("lower max_num_seqs for the queue", "为排队而降低 max_num_seqs"),
            Text(
                "blocks bind, not seats: it only helps against preemption, down to what the pool holds",
                "受限的是块而非席位：它只对抢占有用，且只需降到块池能容纳的数量",
            ),
        ),
    ),
)

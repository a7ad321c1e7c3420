"""--max-cudagraph-capture-size: the largest batch that has a graph."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="max_cudagraph_capture_size",
    group="compute",
    kind="whole",
    what=Text(
        "Largest batch with a graph; steps with more tokens are launched kernel by kernel.",
        "有 graph 的最大批量；token 更多的步逐个启动内核。",
    ),
    spellings=(Spelling("--max-cudagraph-capture-size", since="0.11.2"),),
    defaults=(
        Default(
            "min(2 x max_num_seqs, 512)",
            Text(
                "1024 in place of 512 on SM100; never above max_num_batched_tokens",
                "SM100 上 512 改为 1024；不超过 max_num_batched_tokens",
            ),
        ),
    ),
    legal=Legal(low=1),
    up=Text("Larger batches run as graphs; start-up and memory grow.", "更大的批量也用 graph；启动时间与显存增加。"),
    raising={"itl": "better", "start": "worse", "kv": "worse"},
    treats=(Treatment("launch_bound", "raise"),),
)

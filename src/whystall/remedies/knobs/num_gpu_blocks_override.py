"""--num-gpu-blocks-override: a pool of so many blocks, for tests."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="num_gpu_blocks_override",
    group="kv",
    kind="whole",
    what=Text(
        "Replaces the profiled number of KV blocks. It is there for tests of preemption.",
        "替代剖析得到的 KV 块数，用于测试抢占。",
    ),
    spellings=(Spelling("--num-gpu-blocks-override"),),
    defaults=(Default("None"),),
    legal=Legal(low=1),
    up=Text(
        "More blocks than memory holds end in out of memory; fewer leave memory unused.",
        "多于显存所能容纳会导致显存不足；少于则浪费显存。",
    ),
    raising={"kv": "better", "memory": "worse"},
    treats=(Treatment("kv_capacity", "off"), Treatment("head_of_line_prompt", "off")),
)

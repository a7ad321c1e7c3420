"""--pipeline-parallel-size: GPUs one after the other."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="pipeline_parallel_size",
    group="parallel",
    kind="whole",
    what=Text("Stages of layers, one after the other.", "按层分段、依次执行的级数。"),
    spellings=(Spelling("--pipeline-parallel-size"), Spelling("-pp")),
    defaults=(Default("1"),),
    legal=Legal(low=1),
    up=Text(
        "Less communication than tensor parallelism, and bubbles while a stage waits.",
        "通信少于张量并行，但各级等待时有气泡。",
    ),
    raising={"kv": "better", "itl": "worse"},
    treats=(Treatment("pipeline_bubble", "lower"),),
)

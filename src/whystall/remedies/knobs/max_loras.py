"""--max-loras: adapters in one batch."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Rule, Spelling, Treatment
from whystall.remedies.relation import at_most

KNOB = Knob(
    id="max_loras",
    group="features",
    kind="whole",
    what=Text(
        "Different adapters in one batch; requests for a further one are set aside.",
        "一个批次中的不同适配器数；更多的请求会被搁置。",
    ),
    spellings=(Spelling("--max-loras"),),
    defaults=(Default("1"),),
    legal=Legal(low=1),
    needs=(
        Rule(
            "cpu_loras_hold_gpu_loras",
            Text("max_cpu_loras must be at least max_loras", "max_cpu_loras 不得小于 max_loras"),
            at_most("max_loras", "max_cpu_loras"),
        ),
    ),
    up=Text("Fewer deferred requests, less memory for the pool.", "被搁置的请求更少，块池显存更少。"),
    raising={"ttft": "better", "kv": "worse"},
    treats=(Treatment("lora_swapping", "raise"),),
)

"""--max-cpu-loras: adapters kept in host memory."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="max_cpu_loras",
    group="features",
    kind="whole",
    what=Text("Adapters kept in host memory.", "保存在主机内存中的适配器数。"),
    spellings=(Spelling("--max-cpu-loras"),),
    defaults=(Default("max_loras"),),
    legal=Legal(low=1),
    up=Text("Fewer adapters are read from disk again.", "减少从磁盘重复读取适配器。"),
    raising={"ttft": "better", "memory": "worse"},
    treats=(Treatment("lora_swapping", "raise"),),
)

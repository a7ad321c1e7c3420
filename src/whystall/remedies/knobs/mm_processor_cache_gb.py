"""--mm-processor-cache-gb: preprocessed inputs that are kept."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="mm_processor_cache_gb",
    group="features",
    kind="number",
    what=Text(
        "GiB of host memory for preprocessed images and sounds, a process.",
        "每个进程用于缓存预处理结果的主机内存（GiB）。",
    ),
    spellings=(Spelling("--mm-processor-cache-gb", since="0.11.0"),),
    defaults=(Default("4"),),
    legal=Legal(low=0),
    up=Text("The same image again costs no preprocessing.", "同一图像再次出现时无需预处理。"),
    raising={"cpu": "better", "ttft": "better", "memory": "worse"},
    treats=(Treatment("multimodal_preprocessing", "raise"),),
)

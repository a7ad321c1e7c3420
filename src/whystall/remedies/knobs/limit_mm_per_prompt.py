"""--limit-mm-per-prompt: images a prompt."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="limit_mm_per_prompt",
    group="features",
    kind="json",
    what=Text(
        "Images, videos and sounds that a prompt may hold; start-up profiles memory for them.",
        "单个提示可包含的图像、视频、音频数；启动时按此剖析显存。",
    ),
    spellings=(Spelling("--limit-mm-per-prompt"),),
    defaults=(Default("{}"),),
    up=Text("Lower limits leave more memory to the KV pool.", "上限越低，留给 KV 池的显存越多。"),
    raising={"kv": "worse"},
)

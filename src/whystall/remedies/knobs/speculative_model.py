"""--speculative-model: gone, --speculative-config has it."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="speculative_model",
    group="removed",
    kind="text",
    what=Text(
        "Draft model of speculative decoding before there was --speculative-config.",
        "--speculative-config 出现之前的草稿模型参数。",
    ),
    spellings=(Spelling("--speculative-model", until="0.6.6"),),
    up=Text("See --speculative-config.", "见 --speculative-config。"),
)

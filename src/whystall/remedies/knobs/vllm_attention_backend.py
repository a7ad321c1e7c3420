"""VLLM_ATTENTION_BACKEND: gone, --attention-backend has it."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="vllm_attention_backend",
    group="removed",
    kind="text",
    what=Text(
        "Environment variable for the attention backend before there was --attention-backend.",
        "--attention-backend 出现之前选择注意力后端的环境变量。",
    ),
    spellings=(Spelling("VLLM_ATTENTION_BACKEND", until="0.14.1"),),
    up=Text("See --attention-backend.", "见 --attention-backend。"),
)

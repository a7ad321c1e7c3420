"""VLLM_USE_V1: the switch between V0 and V1, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="vllm_use_v1",
    group="removed",
    kind="switch",
    what=Text(
        "Environment variable that chose the V1 engine while there were two.", "V0 与 V1 并存时选择 V1 引擎的环境变量。"
    ),
    spellings=(Spelling("VLLM_USE_V1", until="0.11.0"),),
    up=Text("Nothing where there is only V1.", "只有 V1 的版本中没有作用。"),
)

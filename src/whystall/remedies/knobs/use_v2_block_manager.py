"""--use-v2-block-manager: a block manager of V0, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="use_v2_block_manager",
    group="removed",
    kind="switch",
    what=Text("Chose V0's second block manager.", "选择 V0 的第二代块管理器。"),
    spellings=(Spelling("--use-v2-block-manager", until="0.9.2"),),
    up=Text("Nothing in V1.", "在 V1 中毫无作用。"),
)

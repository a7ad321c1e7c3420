"""--preemption-mode: swap or recompute of V0, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="preemption_mode",
    group="removed",
    kind="text",
    what=Text("V0 chose between swapping and recomputing; V1 recomputes.", "V0 可选换出或重算；V1 只重算。"),
    spellings=(Spelling("--preemption-mode", until="0.10.2"),),
    up=Text("Nothing in V1.", "在 V1 中毫无作用。"),
)

"""--scheduler-delay-factor: a delay before prompts of V0, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="scheduler_delay_factor",
    group="removed",
    kind="number",
    what=Text(
        "V0 waited with the next prompt for a multiple of the last prompt's time.",
        "V0 在下一个提示前等待上一个提示耗时的若干倍。",
    ),
    spellings=(Spelling("--scheduler-delay-factor", until="0.10.2"),),
    defaults=(Default("0.0"),),
    up=Text("Nothing in V1.", "在 V1 中毫无作用。"),
)

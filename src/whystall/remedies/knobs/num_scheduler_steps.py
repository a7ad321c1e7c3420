"""--num-scheduler-steps: multi-step scheduling of V0, gone."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="num_scheduler_steps",
    group="removed",
    kind="whole",
    what=Text("V0 ran several decode steps for each scheduling.", "V0 每次调度执行多个解码步。"),
    spellings=(Spelling("--num-scheduler-steps", since="0.6.6", until="0.10.0"),),
    defaults=(Default("1"),),
    up=Text("Async scheduling does today what it was for.", "如今由异步调度承担其作用。"),
)

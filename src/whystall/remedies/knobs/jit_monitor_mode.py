"""--jit-monitor-mode: what happens when a kernel is compiled late."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="jit_monitor_mode",
    group="observability",
    kind="choice",
    what=Text(
        "Warns of a kernel that is compiled while requests run, or ends the server.",
        "运行中编译内核时告警，或直接终止服务。",
    ),
    spellings=(Spelling("--jit-monitor-mode", since="0.26.0"),),
    defaults=(Default("warn"),),
    legal=Legal(choices=(Choice("warn"), Choice("error"))),
    up=Text("error is for tests of the warm-up.", "error 仅用于测试预热是否充分。"),
)

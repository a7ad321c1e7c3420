"""--performance-mode: a set of defaults."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="performance_mode",
    group="compute",
    kind="choice",
    what=Text(
        "Changes defaults: throughput doubles seats and token budget, interactivity captures every small batch.",
        "改变默认值：throughput 使席位与 token 预算翻倍，interactivity 捕获所有小批量。",
    ),
    spellings=(Spelling("--performance-mode", since="0.17.1"),),
    defaults=(Default("balanced"),),
    legal=Legal(choices=(Choice("balanced"), Choice("interactivity"), Choice("throughput"))),
    up=Text("What is set by a flag of its own stays.", "已用单独参数设置的值不变。"),
    raising={"throughput": "either", "itl": "either"},
)

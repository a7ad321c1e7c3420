"""--scheduler-cls: a scheduler of one's own."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Folk, Knob, Spelling

KNOB = Knob(
    id="scheduler_cls",
    group="scheduler",
    kind="text",
    what=Text("Path of a scheduler class in place of vLLM's.", "用自定义调度器类替代 vLLM 自带的。"),
    spellings=(Spelling("--scheduler-cls", since="0.8.5"),),
    defaults=(Default("None"),),
    up=Text("Not a supported interface: it may break with every release.", "不是受支持的接口：每个版本都可能不兼容。"),
    folk=(
        Folk(
            ("seat_cap", "overload"),
            Text("a scheduler that takes the shortest job first", "改用最短作业优先的调度器"),
            Text(
                "it is not there, output lengths are not known in advance, and long requests would starve",
                "没有这种调度器，输出长度也无法预知，长请求会饿死",
            ),
        ),
    ),
)

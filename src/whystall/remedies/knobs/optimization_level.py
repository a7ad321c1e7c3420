"""--optimization-level: how much is compiled."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="optimization_level",
    group="compute",
    kind="choice",
    what=Text(
        "How much vLLM compiles: 0 nothing, 1 piecewise graphs, 2 full graphs too, 3 the same today.",
        "编译程度：0 不编译，1 分段 graph，2 另加完整 graph，3 目前与 2 相同。",
    ),
    spellings=(Spelling("--optimization-level", since="0.12.0"),),
    defaults=(Default("2"),),
    legal=Legal(choices=(Choice("0"), Choice("1"), Choice("2"), Choice("3"))),
    up=Text("Fewer launches a step and a longer start.", "每步启动更少，启动过程更久。"),
    down=Text("0 is as --enforce-eager.", "0 等同于 --enforce-eager。"),
    raising={"itl": "better", "throughput": "better", "start": "worse"},
    treats=(Treatment("launch_bound", "off"),),
)

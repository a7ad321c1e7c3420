"""--data-parallel-backend: who starts the engines."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Choice, Default, Knob, Legal, Spelling

KNOB = Knob(
    id="data_parallel_backend",
    group="parallel",
    kind="choice",
    what=Text("Starts the engines as processes or as Ray actors.", "以进程或 Ray actor 启动各引擎。"),
    spellings=(Spelling("--data-parallel-backend", since="0.9.1"), Spelling("-dpb", since="0.9.1")),
    defaults=(Default("mp"),),
    legal=Legal(choices=(Choice("mp"), Choice("ray"))),
    up=Text("ray places engines on other hosts.", "ray 可把引擎放到其他主机。"),
)

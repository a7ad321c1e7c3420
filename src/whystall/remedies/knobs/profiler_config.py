"""--profiler-config: the profiler behind /start_profile."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling, Treatment

KNOB = Knob(
    id="profiler_config",
    group="observability",
    kind="json",
    what=Text(
        "Profiler that /start_profile starts, and the bounds of its window.",
        "/start_profile 启动的剖析器及其窗口限制。",
    ),
    spellings=(Spelling("--profiler-config", since="0.13.0"),),
    up=Text(
        "Nothing until a profile is started; then steps slow and the server stalls while the file is written.",
        "启动剖析前没有影响；剖析期间步变慢，写文件时服务停顿。",
    ),
    raising={"itl": "worse"},
    treats=(Treatment("observability_overhead", "off"),),
)

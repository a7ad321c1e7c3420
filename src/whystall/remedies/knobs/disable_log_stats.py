"""--disable-log-stats: no statistics at all."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="disable_log_stats",
    group="observability",
    kind="switch",
    what=Text("Stops the periodic line of the log and the engine's metrics.", "停止周期性日志行与引擎指标。"),
    spellings=(Spelling("--disable-log-stats"),),
    defaults=(Default("False"),),
    up=Text("Nothing can be diagnosed any more; it saves little.", "将无法再做诊断；节省很少。"),
    raising={"cpu": "better"},
)

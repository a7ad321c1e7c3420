"""--show-hidden-metrics-for-version: metrics that are on their way out."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="show_hidden_metrics_for_version",
    group="observability",
    kind="text",
    what=Text("Shows metrics that the named version has hidden.", "显示在指定版本中已隐藏的指标。"),
    spellings=(Spelling("--show-hidden-metrics-for-version", since="0.8.5"),),
    defaults=(Default("None"),),
    up=Text("Old dashboards go on working for a while.", "旧看板可暂时继续使用。"),
)

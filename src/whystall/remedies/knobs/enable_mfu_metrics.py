"""--enable-mfu-metrics: FLOPs and bytes of the steps."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="enable_mfu_metrics",
    group="observability",
    kind="switch",
    what=Text("Counters of the FLOPs and bytes that steps take.", "统计各步 FLOP 与访存字节。"),
    spellings=(Spelling("--enable-mfu-metrics", since="0.14.1", off="--no-enable-mfu-metrics"),),
    defaults=(Default("False"),),
    up=Text("Some arithmetic in each step.", "每步增加少量计算。"),
    raising={"cpu": "worse"},
)

"""--custom-histogram-buckets: bounds of the histograms."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="custom_histogram_buckets",
    group="observability",
    kind="text",
    what=Text("Bounds of the latency histograms in place of vLLM's.", "自定义延迟直方图的分桶。"),
    spellings=(Spelling("--custom-histogram-buckets", since="0.32.0"),),
    defaults=(Default("None"),),
    up=Text("Finer percentiles, more series.", "分位数更精细，时间序列更多。"),
)

"""--kv-cache-metrics-sample: the share of sampled blocks."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Legal, Spelling, Treatment

KNOB = Knob(
    id="kv_cache_metrics_sample",
    group="observability",
    kind="number",
    what=Text("Share of the blocks that --kv-cache-metrics follows.", "--kv-cache-metrics 跟踪的块比例。"),
    spellings=(Spelling("--kv-cache-metrics-sample", since="0.12.0"),),
    defaults=(Default("0.01"),),
    legal=Legal(low=0, high=1, low_open=True),
    up=Text("Finer histograms, more CPU.", "直方图更细，CPU 更多。"),
    raising={"cpu": "worse"},
    treats=(Treatment("observability_overhead", "lower"),),
)

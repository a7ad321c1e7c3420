"""--kv-cache-metrics: how long blocks live."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="kv_cache_metrics",
    group="observability",
    kind="switch",
    what=Text("Histograms of the life and reuse of sampled KV blocks.", "抽样 KV 块寿命与复用的直方图。"),
    spellings=(Spelling("--kv-cache-metrics", since="0.12.0", off="--no-kv-cache-metrics"),),
    defaults=(Default("False"),),
    up=Text("Costs a little CPU for each sampled block.", "每个抽样块略费 CPU。"),
    raising={"cpu": "worse"},
)

"""--cudagraph-metrics: which steps ran as graphs."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="cudagraph_metrics",
    group="observability",
    kind="switch",
    what=Text("Tells which steps ran as graphs and how much was padding.", "统计哪些步以 graph 运行以及补齐多少。"),
    spellings=(Spelling("--cudagraph-metrics", since="0.13.0", off="--no-cudagraph-metrics"),),
    defaults=(Default("False"),),
    up=Text("Costs next to nothing.", "几乎没有代价。"),
    raising={"cpu": "worse"},
)

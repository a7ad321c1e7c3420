"""--max-seq-len-to-capture: gone, --max-cudagraph-capture-size bounds the graphs."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Knob, Spelling

KNOB = Knob(
    id="max_seq_len_to_capture",
    group="removed",
    kind="whole",
    what=Text("Longest context that V0 ran as a CUDA graph.", "V0 以 CUDA graph 运行的最长上下文。"),
    spellings=(Spelling("--max-seq-len-to-capture", until="0.10.2"),),
    up=Text(
        "Nothing in V1, whose graphs are bounded by the batch: see --max-cudagraph-capture-size.",
        "在 V1 中无作用，其 graph 按批量限定：见 --max-cudagraph-capture-size。",
    ),
)

"""--cudagraph-capture-sizes: batch sizes that have a graph."""

from __future__ import annotations

from whystall.model.text import Text
from whystall.remedies.knob import Default, Knob, Spelling

KNOB = Knob(
    id="cudagraph_capture_sizes",
    group="compute",
    kind="text",
    what=Text(
        "Batch sizes for which a graph is captured; a step is padded to the next one.",
        "捕获 graph 的批量大小；每步会补齐到下一档。",
    ),
    spellings=(
        Spelling("--cudagraph-capture-sizes", since="0.11.2"),
        Spelling("--cuda-graph-sizes", since="0.9.1", until="0.12.0"),
    ),
    defaults=(
        Default(
            "1, 2, 4, 8 to 248 by 8, from 256 on by 16",
            Text("up to max_cudagraph_capture_size", "直到 max_cudagraph_capture_size"),
        ),
    ),
    up=Text("More sizes: less padding, a longer start, more memory.", "档位更多：补齐更少，启动更久，显存更多。"),
    raising={"itl": "better", "start": "worse", "memory": "worse"},
)

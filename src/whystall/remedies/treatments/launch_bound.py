"""The CPU launches every kernel: graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from whystall.model.text import Text
from whystall.remedies.candidate import Candidate, turned, without
from whystall.remedies.situation import Situation

# cudagraph captures are padded to multiples of this (vllm.md 5.5).
CAPTURE_STEP = 16

_GRAPHS = Text("a step's kernels are replayed in one launch: a better ITL", "整步内核一次重放：ITL 改善")
_RISK = Text(
    "the start takes longer and the graphs take some memory from the KV pool", "启动更久，graph 会占用部分 KV 池显存"
)
_LARGER = Text(
    "batches of up to {batch} run as graphs; now those above {now} do not",
    "批量不超过 {batch} 时以 graph 运行；目前超过 {now} 的不行",
)


def candidates(case: Situation) -> Iterator[Candidate]:
    """Take away what switches graphs off; else capture the batches that come."""
    if case.state.configuration.device == "cpu":
        return
    if case.setup.on("enforce_eager"):
        yield without(case, "enforce_eager", _GRAPHS, _RISK)
    elif case.setup.is_set("cudagraph_mode") and case.setup.text("cudagraph_mode") == "NONE":
        yield without(case, "cudagraph_mode", _GRAPHS, _RISK)
    elif case.setup.is_set("optimization_level") and case.setup.text("optimization_level") == "0":
        yield without(case, "optimization_level", _GRAPHS, _RISK)
    else:
        yield from _larger_graphs(case)


def _larger_graphs(case: Situation) -> Iterator[Candidate]:
    now, batch = case.state.configuration.max_graph_batch, case.peak(case.state.running_end)
    if now and batch > now:
        value = CAPTURE_STEP * math.ceil(batch / CAPTURE_STEP)
        yield turned(case, "max_cudagraph_capture_size", value, _LARGER.format(batch=value, now=now), _RISK)

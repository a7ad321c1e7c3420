"""Pipeline parallelism: stages that wait for each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from whystall.model.diagnosis import Evidence, Signal
from whystall.model.text import Text

from .scene import Bools, Scene
from .thresholds import ramp


def pipeline(scene: Scene) -> Iterator[Evidence]:
    """Evidence of stages and of the time in which they are idle with requests at hand."""
    stages = scene.state.configuration.pipeline_parallel
    if stages is None:
        return
    text = Text("the model runs in {stages} pipeline stages", "模型分为 {stages} 个流水线阶段").format(stages=stages)
    if stages < 2:
        text = Text("the model is not cut into pipeline stages", "模型没有切分为流水线阶段")
    yield scene.evidence("pipeline.stages", float(stages), "stages", 1.0 if stages > 1 else -1.5, text, "config")
    if stages > 1:
        yield from _idle(scene, stages)


def _idle(scene: Scene, stages: int) -> Iterator[Evidence]:
    """Idle time of the stages against what the batches in flight explain.

    With ``p`` stages and ``m`` batches in flight, a stage is idle for ``1 - m / p`` of the time while ``m < p``; vLLM
    splits the running requests over at most ``p`` batches, so fewer requests than stages leave stages without any.
    """
    state = scene.state
    running = scene.inside & (state.running_start > 0) & (state.running_end > 0)
    requests = scene.mean((state.running_start + state.running_end) / 2, running)
    must = max(0.0, 1 - requests / stages) if math.isfinite(requests) else math.nan
    idle, source = _seen(scene, running)
    if not math.isfinite(idle):
        if not must > 0:
            return
        idle = must
    text = Text(
        "the stages are idle {idle:.0%} of the time with {requests:~2} requests for {stages} stages",
        "{stages} 个阶段处理 {requests:~2} 个请求时，阶段有 {idle:.0%} 的时间空闲",
    ).format(idle=idle, requests=requests if math.isfinite(requests) else 0.0, stages=stages)
    yield scene.evidence("pipeline.idle", idle, "ratio", ramp(idle, 0.1, 0.4), text, source)


def _seen(scene: Scene, running: Bools) -> tuple[float, Signal]:
    """Idle share by the trace, else by the GPUs' own counter; NaN where neither was seen."""
    if scene.trace is not None and scene.trace.busy_ratio is not None:
        return 1 - scene.trace.busy_ratio, "trace"
    gpu = scene.state.gpu
    return (1 - scene.mean(gpu.util_ratio, running), "gpu") if gpu is not None else (math.nan, "metrics")

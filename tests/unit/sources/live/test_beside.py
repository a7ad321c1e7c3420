import asyncio
import time
from typing import Any

from whystall.model.text import Text
from whystall.sources.live import beside as module
from whystall.sources.live.beside import Beside
from whystall.sources.live.clock import Clock
from whystall.sources.live.nvml import GpuSampler, NoGpu
from whystall.sources.live.sink import Sink


class Kept(Sink):
    def __init__(self) -> None:
        self.gpu_rows: list[dict[str, Any]] = []
        self.host_rows: list[dict[str, Any]] = []

    def gpu(self, rows: list[dict[str, Any]]) -> None:
        self.gpu_rows += rows

    def host(self, row: dict[str, Any]) -> None:
        self.host_rows.append(row)


class FakeGpus(GpuSampler):
    def __init__(self) -> None:
        self.closed = False

    def sample(self, t: float) -> list[dict[str, Any]]:
        return [{"t": t, "gpu": 0}]

    def close(self) -> None:
        self.closed = True


async def watch(port: int, sink: Kept, keep: bool, rows: int = 2) -> Beside:
    """Watches until the sink has so many rows of the host."""
    clock = Clock()
    beside = Beside(port, clock, clock.now(), 0.05, sink, keep)
    await beside.find()
    watching = asyncio.ensure_future(beside.watch())
    while len(sink.host_rows) < rows:
        await asyncio.sleep(0.02)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    return beside


async def test_rows_on_the_grid_for_sink_and_recording(monkeypatch, free_port) -> None:
    gpus = FakeGpus()
    monkeypatch.setattr(module, "open_gpus", lambda pids: gpus)
    sink = Kept()
    before = time.time()
    beside = await watch(free_port(), sink, keep=True)
    assert beside.host_rows == sink.host_rows
    assert beside.gpu_rows == sink.gpu_rows
    assert sink.gpu_rows
    times = [row["t"] for row in sink.host_rows]
    assert before - 1 < times[0] < times[-1] < time.time() + 1
    assert gpus.closed


async def test_a_long_recording_keeps_no_rows_in_memory(monkeypatch, free_port) -> None:
    monkeypatch.setattr(module, "open_gpus", lambda pids: NoGpu(Text("none")))
    sink = Kept()
    beside = await watch(free_port(), sink, keep=False)
    assert beside.host_rows == []
    assert sink.host_rows
    assert sink.gpu_rows == []


async def test_processes_are_looked_for_again_when_one_went_away(monkeypatch, free_port) -> None:
    monkeypatch.setattr(module, "open_gpus", lambda pids: NoGpu(Text("none")))
    monkeypatch.setattr(module, "_LOOK_AGAIN_S", 0.0)
    seen: list[int] = []
    real = module.find_server
    monkeypatch.setattr(module, "find_server", lambda port: seen.append(port) or real(port))
    # The first row may share its millisecond with the first look; the second looks again before there is a third.
    await watch(free_port(), Kept(), keep=False, rows=3)
    assert len(seen) >= 2

"""What is read beside a server's pages, on its own host: its processes, the machine, the GPUs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from .clock import Clock
from .host import HostSampler
from .nvml import NoGpu, open_gpus
from .processes import ServerProcesses, find_server
from .sink import Row, Sink

_LOOK_AGAIN_S = 10.0  # for processes, after one went away


class Beside:
    """Samples host and GPUs on the grid of the scrapes; ``host_rows`` and ``gpu_rows`` are kept where ``keep``."""

    def __init__(self, port: int, clock: Clock, start: float, interval_s: float, sink: Sink, keep: bool) -> None:
        self.server = ServerProcesses()
        self.host_rows: list[Row] = []
        self.gpu_rows: list[Row] = []
        self._port = port
        self._clock = clock
        self._start = start
        self._interval_s = interval_s
        self._sink = sink
        self._keep = keep

    async def find(self) -> ServerProcesses:
        """Looks for the server's processes; in a thread, since a host with many sockets takes a while."""
        self.server = await asyncio.to_thread(find_server, self._port)
        return self.server

    async def watch(self) -> None:
        """Samples until it is cancelled, or the sink raises."""
        jobs = [asyncio.ensure_future(self._watch_host()), asyncio.ensure_future(self._watch_gpus())]
        try:
            await asyncio.gather(*jobs)
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)

    async def _watch_host(self) -> None:
        sampler = HostSampler(self.server)
        looked = self._clock.now()
        async for t in self._ticks():
            # A thread: reading /proc of a busy host may take long, and the scrapes must not wait for it.
            row = await asyncio.to_thread(sampler.sample, t)
            if self._keep:
                self.host_rows.append(row)
            self._sink.host(row)
            if len(row["processes"]) < max(1, len(self.server.processes)) and t - looked > _LOOK_AGAIN_S:
                looked = t
                sampler = HostSampler(await self.find())

    async def _watch_gpus(self) -> None:
        sampler = await asyncio.to_thread(open_gpus, frozenset(process.pid for process in self.server.processes))
        if isinstance(sampler, NoGpu):
            return
        try:
            async for t in self._ticks():
                rows = await asyncio.to_thread(sampler.sample, t)
                if self._keep:
                    self.gpu_rows += rows
                self._sink.gpu(rows)
        finally:
            sampler.close()

    async def _ticks(self) -> AsyncIterator[float]:
        slot = 0
        while True:
            yield round(self._clock.now(), 3)
            passed = (self._clock.now() - self._start) / self._interval_s
            slot = max(slot + 1, round(passed))
            await self._clock.sleep_until(self._start + slot * self._interval_s)

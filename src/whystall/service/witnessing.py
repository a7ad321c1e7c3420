"""What is read beside a server's page for as long as it is watched: logs, exporters, spans, its own host."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable

import msgspec
import psutil

from whystall.errors import NotMetrics, UsageError, WhystallError
from whystall.sources.files.kernel_log import KernelRing, is_kernel_ring, kernel_lines
from whystall.sources.gpu import GpuRow
from whystall.sources.hardware.columns import is_hardware, not_hardware
from whystall.sources.host import HostRow
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address, is_this_host
from whystall.sources.live.beside import Beside
from whystall.sources.live.clock import Clock
from whystall.sources.live.http import Session
from whystall.sources.live.log_tail import LogTail
from whystall.sources.live.scraper import SKIPPED, Scraper
from whystall.sources.live.scrubber import mask_secrets
from whystall.sources.live.sink import Row, Sink
from whystall.sources.tracing.receive import receive
from whystall.sources.tracing.receiver import SpanBox

from .error_words import told
from .log import Log
from .target import WatchTarget
from .window import Window
from .witness import Witness

EXPORTER_S = 10.0  # exporters renew their figures every second at most, DCGM's every 30 s by default
AGAIN_S = 30.0  # what is away is asked for again


class Witnessing:
    """The loops of one target. ``asked`` is set once the server was asked: from then on ``clock`` is the server's."""

    def __init__(
        self, target: WatchTarget, witness: Witness, clock: Clock, interval_s: float, log: Log, asked: asyncio.Event
    ) -> None:
        self._target = target
        self._witness = witness
        self._clock = clock
        self._interval_s = interval_s
        self._log = log
        self._asked = asked

    async def run(self) -> None:
        """Read until cancelled."""
        await self._asked.wait()
        target = self._target
        jobs: list[Awaitable[None]] = []
        if target.log is not None:
            jobs.append(self._again(str(target.log), self._follow_log))
        if target.kernel_log is not None:
            jobs.append(self._again(str(target.kernel_log), self._follow_kernel))
        jobs += [self._again(url, lambda url=url: self._exporter(url)) for url in target.exporters]  # type: ignore[misc]
        if target.otlp_listen:
            jobs.append(self._again(target.otlp_listen, self._receive))
        if target.beside and not self._clock.foreign:
            jobs.append(self._host())
        await asyncio.gather(*jobs)

    async def _again(self, what: str, job: Callable[[], Awaitable[None]]) -> None:
        """A job that ends with an error is begun again, and what it was about is named meanwhile."""
        while True:
            try:
                await job()
            except WhystallError as error:
                if self._witness.away.get(what) != told(error):
                    self._log.warning("beside the server", target=self._target.name, what=what, why=error.message)
                self._witness.away[what] = told(error)
            await asyncio.sleep(AGAIN_S * random.uniform(0.8, 1.2))

    def _answers(self, what: str) -> None:
        self._witness.away.pop(what, None)

    # -- logs

    async def _follow_log(self) -> None:
        assert self._target.log is not None
        tail = LogTail(self._target.log, endless=True)
        try:
            self._take_log(tail, tail.first())
            while True:
                self._answers(str(self._target.log))
                await asyncio.sleep(self._pause())
                while chunk := tail.more():
                    self._take_log(tail, chunk)
                    await asyncio.sleep(0)
        finally:
            tail.close()

    def _take_log(self, tail: LogTail, chunk: bytes) -> None:
        if chunk:
            self._witness.log.take(chunk, self._clock.now() if self._clock.foreign else tail.written())

    async def _follow_kernel(self) -> None:
        path = self._target.kernel_log
        assert path is not None
        boot = psutil.boot_time()
        if is_kernel_ring(path):
            with KernelRing(path) as ring:
                while True:
                    self._witness.add_kernel(await asyncio.to_thread(lambda: list(ring.more(boot))))
                    self._answers(str(path))
                    await asyncio.sleep(self._interval_s)
        tail = LogTail(path, endless=True)
        try:
            chunk, half = tail.first(), b""
            while True:
                whole, _, half = (half + chunk).rpartition(b"\n")
                self._witness.add_kernel(kernel_lines(whole.decode("utf-8", "replace").split("\n"), boot))
                self._answers(str(path))
                await asyncio.sleep(self._interval_s)
                chunk, half = tail.more(), half[-65_536:]
        finally:
            tail.close()

    def _pause(self) -> float:
        """A log is read as often as pages come, on the server's clock."""
        return self._interval_s / max(self._clock.speed, 1.0)

    # -- exporters and spans

    async def _exporter(self, url: str) -> None:
        # Without the server's token: it is another program.
        access = Access(timeout_s=self._target.access.timeout_s)
        interval_s = max(self._interval_s, EXPORTER_S)
        async with Session(Address.parse(url), access) as session:
            scraper = Scraper(session, Clock(), interval_s, math.inf)
            window = Window()
            self._witness.exporters[url] = window
            scrapes = scraper.scrapes()
            try:
                async for scrape in scrapes:
                    if scrape.page is not None:
                        if not is_hardware(key.name for key in scraper.parser.keys):
                            raise not_hardware(url)
                        window.add(scrape.t, scrape.page, scraper.parser.keys)
                        self._answers(url)
                    elif scrape.error and scrape.error != SKIPPED:
                        raise NotMetrics(f"{url} gave no page: {scrape.error}", "")
            finally:
                await scrapes.aclose()

    async def _receive(self) -> None:
        box = SpanBox()
        async with receive(self._target.otlp_listen, box):
            while True:
                self._answers(self._target.otlp_listen)
                await asyncio.sleep(self._interval_s)
                self._witness.spans.extend(box.take_out())

    # -- the server's own host

    async def _host(self) -> None:
        try:
            address = Address.parse(self._target.target)
        except UsageError:
            return
        if not await asyncio.to_thread(is_this_host, address):
            return
        self._witness.host = ""
        while True:
            beside = Beside(
                address.port, self._clock, self._clock.now(), self._interval_s, _Rows(self._witness), keep=False
            )
            found = await beside.find()
            if found.elsewhere:
                return
            if found.processes:
                self._witness.argv = mask_secrets(found.argv)
                await beside.watch()
            await asyncio.sleep(AGAIN_S)  # nobody listens there now


class _Rows(Sink):
    """Rows of the host and its GPUs, into a witness."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    def gpu(self, rows: list[Row]) -> None:
        self._witness.gpu_rows.extend(msgspec.convert(row, GpuRow) for row in rows)

    def host(self, row: Row) -> None:
        self._witness.host_rows.append(msgspec.convert(row, HostRow))

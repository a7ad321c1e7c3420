"""What stands beside a server, into the folder of its recording while that is written."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import psutil

from whystall.errors import UsageError
from whystall.model.recording import LogLine, SeriesTable
from whystall.sources.exposition import Page
from whystall.sources.files.kernel_log import read_kernel_log
from whystall.sources.hardware import dcgm, nodes
from whystall.sources.hardware.columns import is_hardware, not_hardware
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.clock import Clock
from whystall.sources.live.http import Session
from whystall.sources.live.scraper import Scraper
from whystall.sources.live.sink import Sink
from whystall.sources.table import TableBuilder
from whystall.sources.tracing.receive import receive
from whystall.sources.tracing.receiver import SpanBox

from .companions import Companions, probing

_LEAST_S = 1.0  # exporters renew their figures every second at most


@asynccontextmanager
async def beside(
    sink: Sink, named: Companions, kernel_log: Path | None, interval_s: float, timeout_s: float
) -> AsyncIterator[None]:
    """Into ``sink``, while the block runs, what exporters, spans, other hosts and the kernel tell.

    Raises what the first page of an exporter meets, and UsageError where no spans can be received or what is asked
    afterwards (Jaeger, Zipkin) is named.
    """
    if named.jaeger or named.zipkin:
        raise UsageError(
            "a recording does not ask Jaeger or Zipkin", "give them to whystall diagnose --jaeger, --zipkin"
        )
    box = SpanBox()
    async with AsyncExitStack() as stack:
        if named.otlp_listen:
            await stack.enter_async_context(receive(named.otlp_listen, box))
        await stack.enter_async_context(probing(named.peers, lambda rounds: sink.links([one.row() for one in rounds])))
        jobs = [
            await _begun(url, sink, Access(timeout_s=timeout_s), max(interval_s, _LEAST_S))
            for url in (named.dcgm, named.node_exporter)
            if url
        ]
        jobs.append(asyncio.create_task(_spans(box, sink)))
        try:
            yield
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            sink.spans(box.take_out())
            if kernel_log is not None:
                sink.kernel(list(read_kernel_log(kernel_log, psutil.boot_time())))


async def _spans(box: SpanBox, sink: Sink) -> None:
    while True:
        await asyncio.sleep(_LEAST_S)
        sink.spans(box.take_out())


async def _begun(url: str, sink: Sink, access: Access, interval_s: float) -> asyncio.Task[None]:
    """The loop of one exporter, once its first page was read."""
    seen = asyncio.Event()
    job = asyncio.create_task(_exporter(url, sink, access, interval_s, seen))
    waiting = asyncio.create_task(seen.wait())
    await asyncio.wait([job, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if job.done():
        await job
    return job


async def _exporter(url: str, sink: Sink, access: Access, interval_s: float, seen: asyncio.Event) -> None:
    async with Session(Address.parse(url), access) as session:
        scraper = Scraper(session, Clock(), interval_s, math.inf)
        last: tuple[float, Page] | None = None
        scrapes = scraper.scrapes()
        try:
            async for scrape in scrapes:
                if scrape.page is None:
                    continue
                if not is_hardware(key.name for key in scraper.parser.keys):
                    raise not_hardware(url)
                table = TableBuilder(scraper.parser)
                for t, page in filter(None, (last, (scrape.t, scrape.page))):
                    table.add(t, page)
                _keep(table.table(), scrape.t, sink)
                last = (scrape.t, scrape.page)
                seen.set()
        finally:
            await scrapes.aclose()


def _keep(table: SeriesTable, t: float, sink: Sink) -> None:
    """The rows of the newest page; the one before it is there for what is told by a difference."""
    gpus = [msgspec.to_builtins(row) for row in dcgm.gpu_rows(table) if row.t == t]
    if gpus:
        sink.gpu(gpus)
    for row in nodes.host_rows(table):
        if row.t == t:
            sink.host(msgspec.to_builtins(row))
    faults: list[LogLine] = [line for line in dcgm.xid_lines(table) if line.t == t]
    if faults:
        sink.kernel(faults)

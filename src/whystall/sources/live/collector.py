"""Everything about one server, collected side by side for a while, to one recording."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import TooLittleData, UsageError
from whystall.model.recording import Health, InputWarning, LogLine, Recording, SeriesTable
from whystall.model.target import Target
from whystall.sources.files.metrics import take_out_impossible
from whystall.sources.files.notices import notice
from whystall.sources.files.recording import log_anchor, version_of
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.host import HostRow, host_columns
from whystall.sources.log import read_log
from whystall.sources.table import TableBuilder

from .access import Access
from .address import Address, is_this_host
from .beside import Beside
from .clock import Clock
from .facts import ServerFacts, read_facts, read_health
from .freeze import FreezeWatch
from .http import Session
from .log_tail import HEAD_BYTES, TAIL_BYTES, LogTail
from .mixed import require_one_server
from .scraper import Scrape, Scraper
from .scrubber import mask_secrets
from .sink import Sink

_PAGE = "/metrics"
_MIN_INTERVAL_S = 0.02


class CollectSpec(msgspec.Struct, frozen=True):
    """What to collect. ``seconds`` is the time from the first scrape to the last, ``interval_s`` that between them.

    ``server_args`` is the server's command line as text. ``keep`` is whether what is read is kept for the recording
    that is returned; a long one that goes to a sink need not. ``allow_mixed`` takes pages of several servers in turn.
    ``beside`` is whether this host is looked at where the address is on it; behind a proxy the server is elsewhere.
    """

    target: str
    seconds: float = 30.0
    interval_s: float = 1.0
    access: Access = Access()
    log: Path | None = None
    server_args: str = ""
    keep: bool = True
    allow_mixed: bool = False
    beside: bool = True


class Progress(msgspec.Struct, frozen=True):
    """How far a collection is: seconds on the server's clock, scrapes that gave a page and that did not."""

    seconds: float
    of_seconds: float
    scrapes: int
    failed: int


async def collect(
    spec: CollectSpec,
    *,
    sink: Sink | None = None,
    progress: Callable[[Progress], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Recording:
    """Scrapes ``spec.target`` and reads all that is beside it; ends early, with what there is, once ``stop`` is set.

    Raises what the first scrape meets (Unreachable, AccessDenied, TlsFailed, NotMetrics, TooLarge), UsageError for an
    option that cannot be used, MixedServers where pages came from several servers in turn, and TooLittleData where it
    was stopped before the first page.
    """
    address = Address.parse(spec.target)
    if spec.interval_s < _MIN_INTERVAL_S:
        raise UsageError(
            f"an interval of {spec.interval_s * 1e3:g} ms would load the server that is looked at",
            f"take {_MIN_INTERVAL_S * 1e3:g} ms or more; 1 s is enough for every cause",
        )
    argv = _split(spec.server_args)
    tail = LogTail(spec.log) if spec.log else None
    try:
        async with Session(address, spec.access) as session:
            collection = _Collection(spec, session, sink or Sink(), tail, argv)
            await collection.run(progress, stop)
            return collection.recording()
    finally:
        if tail is not None:
            tail.close()


class _Collection:
    """One run's state."""

    def __init__(
        self, spec: CollectSpec, session: Session, sink: Sink, tail: LogTail | None, argv: tuple[str, ...]
    ) -> None:
        self._spec = spec
        self._session = session
        self._sink = sink
        self._tail = tail
        self._argv = argv
        self._clock = Clock()
        self._scraper = Scraper(session, self._clock, spec.interval_s, spec.seconds)
        self._table = TableBuilder(self._scraper.parser)
        self._freeze = FreezeWatch(self._scraper.parser.keys)
        self._facts = ServerFacts()
        self._beside: Beside | None = None
        self._health: list[Health] = []
        self._log: list[bytes] = []
        self._scrapes = self._failed = 0

    async def run(self, progress: Callable[[Progress], None] | None, stop: asyncio.Event | None) -> None:
        scrapes = self._scraper.scrapes()
        try:
            await _until_done(self._first(scrapes), stop)
            if not self._scrapes:
                raise TooLittleData("stopped before the first page had come", "let it run longer")
            # Beside the scraping, not before it: an endpoint that hangs must not cost scrapes.
            facts = asyncio.ensure_future(self._read_facts())
            try:
                await _until_done(self._scrape(scrapes, progress), stop, self._look_beside())
                if not (stop and stop.is_set()):  # who stops does not wait for an endpoint that hangs
                    await facts
            finally:
                facts.cancel()
                await asyncio.gather(facts, return_exceptions=True)
        finally:
            await scrapes.aclose()
        await self._ask_health()
        self._read_log()
        if self._spec.keep and not self._spec.allow_mixed:
            require_one_server(self._table.table(), self._session.address.base)

    async def _first(self, scrapes: AsyncGenerator[Scrape]) -> None:
        self._take(await anext(scrapes))
        self._sink.argv(self._argv)
        self._keep_log(self._tail.first() if self._tail else b"")

    async def _read_facts(self) -> None:
        self._facts, _ = await asyncio.gather(read_facts(self._session), self._ask_health())
        self._sink.facts(self._facts)

    async def _look_beside(self) -> None:
        """Reads this host where the server is on it.

        A server with a clock of its own is not real: the host of a replay or an emulator is not this one.
        """
        if (
            not self._spec.beside
            or self._clock.foreign
            or not await asyncio.to_thread(is_this_host, self._session.address)
        ):
            return
        port, start = self._session.address.port, self._scraper.start
        beside = Beside(port, self._clock, start, self._spec.interval_s, self._sink, self._spec.keep)
        found = await beside.find()
        if found.elsewhere:
            return
        self._beside = beside
        if not self._argv:
            self._argv = mask_secrets(found.argv)
            self._sink.argv(self._argv)
        await beside.watch()

    async def _scrape(self, scrapes: AsyncGenerator[Scrape], progress: Callable[[Progress], None] | None) -> None:
        async for scrape in scrapes:
            self._take(scrape)
            self._read_log()
            if scrape.page is not None and self._freeze.stands_still(scrape.t, scrape.page):
                await self._ask_health()
            if progress:
                seconds = scrape.t - self._scraper.start
                progress(Progress(seconds, self._spec.seconds, self._scrapes, self._failed))

    def _take(self, scrape: Scrape) -> None:
        if scrape.page is None:
            self._failed += 1
            self._sink.failed(scrape.t, scrape.error)
            self._table.fail(scrape.t, scrape.error)
            return
        self._scrapes += 1
        self._sink.page(scrape.t, scrape.body)
        if self._spec.keep:
            self._table.add(scrape.t, scrape.page)

    async def _ask_health(self) -> None:
        health = await read_health(self._session, self._clock)
        self._health.append(health)
        self._sink.health(health)

    def _read_log(self) -> None:
        self._keep_log(self._tail.more() if self._tail else b"")

    def _keep_log(self, chunk: bytes) -> None:
        if not chunk:
            return
        self._sink.log(chunk)
        if self._spec.keep:
            self._log.append(chunk)

    def recording(self) -> Recording:
        table = self._table.table()
        gpu_rows = self._beside.gpu_rows if self._beside else []
        host_rows = self._beside.host_rows if self._beside else []
        log, notices = self._read_lines(table)
        return Recording(
            target=Target(self._session.address.base),
            metrics=table,
            gpu=gpu_columns([msgspec.convert(row, GpuRow) for row in gpu_rows]),
            host=host_columns([msgspec.convert(row, HostRow) for row in host_rows]),
            log=log,
            server_info=self._facts.server_info,
            version=version_of(self._facts.version),
            models=self._facts.models,
            argv=self._argv,
            health=tuple(self._health),
            warnings=(*self._notices(table), *notices),
        )

    def _notices(self, table: SeriesTable) -> list[InputWarning]:
        """As a recording that is read tells them; takes samples that cannot be out of the table."""
        found = take_out_impossible(_PAGE, table, self._table.nan_samples)
        if self._failed:
            total = self._failed + self._scrapes
            found.insert(0, notice("failed_scrapes", _PAGE, count=self._failed, total=total))
        if self._table.duplicates:
            found.append(notice("duplicate_series", _PAGE, count=self._table.duplicates))
        return found

    def _read_lines(self, table: SeriesTable) -> tuple[tuple[LogLine, ...], list[InputWarning]]:
        if not self._log or not len(table.times) or self._tail is None:
            return (), []
        data = b"".join(self._log)
        text = data.decode("utf-8", "replace")
        replaced = text.count("\ufffd") - data.count("\ufffd".encode())
        name = self._tail.path.name
        notices = [notice("not_utf8_log", name, count=replaced)] if replaced > 0 else []
        if self._tail.cut:
            notices.append(notice("long_log", name, head=f"{HEAD_BYTES / 2**20:g}", tail=f"{TAIL_BYTES / 2**20:g}"))
        return read_log(text.split("\n"), log_anchor(table)), notices


async def _until_done(
    job: Coroutine[None, None, None], stop: asyncio.Event | None, beside: Coroutine[None, None, None] | None = None
) -> None:
    """Waits for the job or the stop. What fails in any of them is raised; all are ended on return."""
    main = asyncio.ensure_future(job)
    stopping = [asyncio.ensure_future(stop.wait())] if stop else []
    waiting: set[asyncio.Future[Any]] = {main, *stopping, *([asyncio.ensure_future(beside)] if beside else [])}
    try:
        ended = False
        while not ended:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            ended = main in done or any(task in done for task in stopping)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def _split(text: str) -> tuple[str, ...]:
    try:
        return mask_secrets(tuple(shlex.split(text)))
    except ValueError as error:
        raise UsageError(f"--server-args cannot be split into words: {error}", "quote it as a shell would") from None

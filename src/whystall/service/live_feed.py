"""The last minutes of one server, diagnosed again and again: what ``whystall top`` shows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

import msgspec

from whystall import pipeline
from whystall.errors import TooLittleData, WhystallError
from whystall.model.recording import FailedScrape, Recording
from whystall.model.slo import Slo
from whystall.model.target import Target
from whystall.reports.finding import Finding
from whystall.sources.exposition import Page
from whystall.sources.files.recording import argv_of, version_of
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.clock import Clock
from whystall.sources.live.facts import ServerFacts, read_facts
from whystall.sources.live.http import Session
from whystall.sources.live.scraper import SKIPPED, Scrape, Scraper
from whystall.sources.table import TableBuilder

_FOREVER_S = 1e9
_MOST_PAGES = 1000  # however short the interval: a page of 2,000 series takes 32 KB


class FeedSpec(msgspec.Struct, frozen=True):
    """Which server, how often it is scraped, over how many seconds it is diagnosed, and how often (its own clock)."""

    target: str
    interval_s: float = 1.0
    window_s: float = 120.0
    look_every_s: float = 2.0
    access: Access = Access()
    server_args: str = ""
    slo: Slo | None = None


class Look(msgspec.Struct, frozen=True):
    """What is known now. ``finding`` is None until there is enough to say; ``error`` is what the last scrape met."""

    t: float
    finding: Finding | None = None
    error: str = ""
    scrapes: int = 0
    failed: int = 0


class Feed:
    """Scrapes a server and tells of it. Open it before the screen is, so that a wrong address is a plain error."""

    def __init__(self, spec: FeedSpec) -> None:
        self._spec = spec
        self._session = Session(Address.parse(spec.target), spec.access)
        self._clock = Clock()
        self._scraper = Scraper(self._session, self._clock, spec.interval_s, _FOREVER_S)
        self._pages: deque[tuple[float, Page]] = deque(maxlen=_MOST_PAGES)
        self._failed: deque[FailedScrape] = deque(maxlen=_MOST_PAGES)
        self._facts = ServerFacts()
        self._looked = float("-inf")
        self._scrapes = self._failures = 0

    async def looks(self, paused: Callable[[], bool] = lambda: False) -> AsyncIterator[Look]:
        """A look for each time that something new is known; none while ``paused``. Raises what the first scrape meets."""
        async with self._session:
            scrapes = self._scraper.scrapes()
            try:
                async for scrape in scrapes:
                    self._take(scrape)
                    if self._scrapes == 1 and scrape.page is not None:
                        self._facts = await read_facts(self._session)
                    if not paused() and (scrape.error or scrape.t - self._looked >= self._spec.look_every_s):
                        self._looked = scrape.t
                        yield await asyncio.to_thread(self._look, scrape)
            finally:
                await scrapes.aclose()

    def _take(self, scrape: Scrape) -> None:
        if scrape.page is None:
            self._failures += 1
            self._failed.append(FailedScrape(scrape.t, scrape.error))
        else:
            self._scrapes += 1
            self._pages.append((scrape.t, scrape.page))
        oldest = scrape.t - self._spec.window_s
        while self._pages and self._pages[0][0] < oldest:
            self._pages.popleft()
        while self._failed and self._failed[0].t < oldest:
            self._failed.popleft()

    def _look(self, scrape: Scrape) -> Look:
        # A slot that we missed ourselves is nothing that the server did.
        finding, error = None, "" if scrape.error == SKIPPED else scrape.error
        try:
            finding = pipeline.diagnose(self.recording(), self._spec.slo)
        except TooLittleData:
            pass  # it comes with the next scrapes
        except WhystallError as failure:
            error = failure.message
        return Look(scrape.t, finding, error, self._scrapes, self._failures)

    def recording(self) -> Recording:
        """The window as a recording."""
        table = TableBuilder(self._scraper.parser)
        for t, page in self._pages:
            table.add(t, page)
        for failed in self._failed:
            table.fail(failed.t, failed.error)
        return Recording(
            target=Target(self._session.address.base),
            metrics=table.table(),
            server_info=self._facts.server_info,
            version=version_of(self._facts.version),
            models=self._facts.models,
            argv=argv_of(self._spec.server_args) if self._spec.server_args else (),
        )

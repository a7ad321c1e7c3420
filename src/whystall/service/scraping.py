"""Pages of one server without end: on a grid while it answers, with longer and longer pauses while it does not."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from whystall.errors import WhystallError
from whystall.model.recording import Recording, SeriesKey
from whystall.sources.exposition import Page
from whystall.sources.live.address import Address
from whystall.sources.live.clock import Clock
from whystall.sources.live.facts import ServerFacts, read_facts
from whystall.sources.live.http import Session
from whystall.sources.live.scraper import SKIPPED, Scrape, Scraper

from .target import WatchTarget

LONGEST_PAUSE_S = 60.0
PATIENT = 3  # failures before the pauses grow: until then the server is asked as often as ever, to know soon
JITTER = 0.2  # of a pause: a thousand servers that come back must not all be asked in the same moment


class Taker(Protocol):
    """Who takes what a server says."""

    def page(self, name: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> None: ...

    def failed(self, name: str, t: float, error: str, text: str) -> None: ...

    def facts(self, name: str, facts: ServerFacts) -> None: ...

    def found(self, name: str, target: WatchTarget) -> None: ...

    def back(self, name: str, t: float) -> None: ...

    def told(self, name: str, recording: Recording) -> None: ...

    def logged(self, name: str, chunk: bytes, t: float) -> None: ...

    def gone(self, name: str, t: float) -> None: ...

    def only(self, target: str, members: Collection[str], t: float) -> None: ...


class Listener:
    """Takes everything and keeps nothing: whoever hands on a part overrides that part."""

    def page(self, name: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> None: ...

    def failed(self, name: str, t: float, error: str, text: str) -> None: ...

    def facts(self, name: str, facts: ServerFacts) -> None: ...

    def found(self, name: str, target: WatchTarget) -> None: ...

    def back(self, name: str, t: float) -> None: ...

    def told(self, name: str, recording: Recording) -> None: ...

    def logged(self, name: str, chunk: bytes, t: float) -> None: ...

    def gone(self, name: str, t: float) -> None: ...

    def only(self, target: str, members: Collection[str], t: float) -> None: ...


def pause_s(every_s: float, failures: int, chance: Callable[[], float] = random.random) -> float:
    """Seconds until somebody is asked again: ``every_s``, doubled with each failure up to a minute, not all at once."""
    seconds = min(every_s * 2.0 ** min(failures, 16), max(LONGEST_PAUSE_S, every_s))
    return seconds * (1 - JITTER + 2 * JITTER * chance())


class Scraping:
    """The loop of one target. ``run`` ends only when it is cancelled; ``asked`` is set with the first answer or failure."""

    def __init__(
        self,
        target: WatchTarget,
        interval_s: float,
        taker: Taker,
        chance: Callable[[], float] = random.random,
        clock: Clock | None = None,
    ) -> None:
        self.asked = asyncio.Event()
        self._target = target
        self._interval_s = interval_s
        self._taker = taker
        self._chance = chance
        self._clock = clock or Clock()
        self._failures = 0
        self._facts_known = False

    async def run(self) -> None:
        """Scrape until cancelled."""
        address = Address.parse(self._target.target)
        await asyncio.sleep(self._chance() * min(self._interval_s, 1.0))  # not all targets at once
        async with Session(address, self._target.access) as session:
            while True:
                await self._connection(session)
                await self._clock.sleep(self.pause())

    async def _connection(self, session: Session) -> None:
        """Scrapes until one fails."""
        try:
            scraper = Scraper(session, self._clock, self._interval_s, math.inf)
            scrapes = scraper.scrapes()
            try:
                async for scrape in scrapes:
                    if not self._take(scrape, scraper):
                        return
                    if not self._facts_known:
                        self._facts_known = True
                        self._taker.facts(self._target.name, await read_facts(session))
            finally:
                await scrapes.aclose()
        except WhystallError as error:
            self._failed(type(error).__name__, error.message)

    def _take(self, scrape: Scrape, scraper: Scraper) -> bool:
        """Whether to go on with this connection."""
        if scrape.page is not None:
            self._failures = 0
            self.asked.set()
            self._taker.page(self._target.name, scrape.t, scrape.page, scraper.parser.keys)
        elif scrape.error and scrape.error != SKIPPED:
            self._failed(scrape.error, "")
            return False
        return True

    def _failed(self, error: str, text: str) -> None:
        self._failures += 1
        self.asked.set()
        self._facts_known = False  # it may come back as another version
        self._taker.failed(self._target.name, self._clock.now(), error, text)

    def pause(self) -> float:
        """Seconds until the next attempt: the interval at first, then doubled each time up to a minute."""
        return pause_s(self._interval_s, max(self._failures - PATIENT, 0), self._chance)

"""The ``/metrics`` page of one server, again and again on a fixed grid."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator

import msgspec

from whystall.errors import TooLittleData, WhystallError
from whystall.sources.exposition import Page, PageParser

from .clock import CLOCK_HEADER, Clock
from .http import Session, require_metrics

SKIPPED = "Skipped"  # a slot of the grid that passed while the scrape before it was still under way
_RETRIES = 4
_SLACK = 0.05  # of an interval: a scrape that comes this late is still in its slot
_GONE = 410


class Scrape(msgspec.Struct, frozen=True):
    """One scrape: its page and text, or ``error``, the name of what went wrong."""

    t: float
    body: bytes = b""
    page: Page | None = None
    error: str = ""


class Scraper:
    """Scrapes every ``interval_s`` for ``seconds`` on the grid that the first page begins.

    The times do not drift: a slow scrape lets slots pass, which are reported as failed with ``Skipped``. A page's
    time is when its headers came (a server renders it just before), or the server's clock where it sends one.
    The first scrape must succeed and raises otherwise; later failures are reported and scraping goes on, for a server
    that went away may come back. A replay that has come to its end (410) ends the scraping.
    """

    def __init__(self, session: Session, clock: Clock, interval_s: float, seconds: float) -> None:
        self.parser = PageParser()
        self.start = math.nan
        self._session = session
        self._clock = clock
        self._interval_s = interval_s
        self._seconds = seconds
        self._last = -math.inf

    async def scrapes(self) -> AsyncGenerator[Scrape]:
        """The scrapes in order of time, each as soon as it is done."""
        first = await self._first()
        self.start = self._last = first.t
        yield first
        slot = 1
        while slot * self._interval_s <= self._seconds * (1 + 1e-9):
            due = round(self.start + slot * self._interval_s, 3)
            # The bound is for a server's clock that stepped back: without it we would wait for it to catch up.
            await self._clock.sleep_until(min(due, self._clock.now() + 2 * self._interval_s))
            try:
                scrape = await self._fresh(due)
            except _ReplayEndedError:
                return
            following = self._following(slot)
            for each in self._in_order(scrape, range(slot + 1, following)):
                yield each
            slot = following

    async def _first(self) -> Scrape:
        try:
            return await self._scrape()
        except _ReplayEndedError:
            raise TooLittleData(
                f"the replay at {self._session.address} has come to its end",
                "start it again with whystall replay FOLDER; --loop makes it begin anew by itself",
            ) from None

    def _in_order(self, scrape: Scrape, passed: range) -> list[Scrape]:
        slots = (round(self.start + slot * self._interval_s, 3) for slot in passed)
        skipped = [Scrape(t, error=SKIPPED) for t in slots]
        # A page that was long in coming is younger than the slots that passed meanwhile.
        found = [scrape, *skipped] if scrape.error else [*(s for s in skipped if s.t < scrape.t), scrape]
        found = [one for one in found if one.t > self._last]
        self._last = found[-1].t if found else self._last
        return found

    async def _fresh(self, due: float) -> Scrape:
        """One slot's scrape, asked for again where a replay still shows the page before."""
        try:
            for _ in range(_RETRIES):
                scrape = await self._scrape()
                if scrape.t > self._last:
                    break
                await self._clock.sleep(self._interval_s / _RETRIES)
        except WhystallError as error:
            return Scrape(due, error=type(error).__name__)
        return scrape

    async def _scrape(self) -> Scrape:
        answer = await self._session.get("/metrics")
        if answer.status == _GONE and CLOCK_HEADER.lower() in answer.headers:
            raise _ReplayEndedError
        require_metrics(answer, self._session.address)
        t = round(self._clock.observe(answer.headers, answer.received), 3)
        if t <= self._last:
            return Scrape(t)
        return Scrape(t, answer.body, self.parser.parse(answer.body))

    def _following(self, slot: int) -> int:
        """The next slot: one on, or further where more have passed."""
        if not self._clock.speed:
            return slot + 1
        passed = min(self._clock.now() - self.start, self._seconds) / self._interval_s
        return max(slot + 1, math.floor(passed - _SLACK) + 1)


class _ReplayEndedError(Exception):
    """A replay has no more pages."""

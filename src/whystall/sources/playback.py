"""A recording's pages as time passes on the recording's clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whystall.errors import NotARecording

from .files.metrics import LIMIT_BYTES
from .files.scrapes import Scrape, scrapes
from .files.stream import Stream

NAMES = ("metrics.prom.gz", "metrics.prom")


class Playback:
    """Goes through the pages once, or round and round; only the current one and the next are held.

    ``t`` is the current page's time on the recording's clock. It never steps back: each further round goes on where the
    last ended, so that its counters fall as after a restart.
    """

    def __init__(self, folder: Path, loop: bool = False) -> None:
        """Raises NotARecording where ``folder`` holds no page with a time."""
        self.path = _metrics_file(folder)
        self._loop = loop
        self._pages = self._read()
        self._shift = 0.0
        self._interval = 1.0
        first = next(self._pages, None)
        if first is None:
            raise NotARecording(f"{folder} holds no page with a time", "whystall record makes such folders")
        self.page = first
        self.start = self.t = _time(first)
        self._next = next(self._pages, None)
        self.ended = False

    @property
    def next_t(self) -> float:
        """When the current page gives way: to the next, or after the last one to nothing."""
        return self.t + self._interval if self._next is None else _time(self._next) + self._shift

    def advance(self) -> bool:
        """On to the next page; False, and ``ended``, where there is none."""
        if self._next is None and self._loop:
            self._shift = self.next_t - self.start
            self._pages = self._read()
            self._next = next(self._pages, None)
        if self._next is None:
            self.ended = True
            return False
        t = self.next_t
        self._interval = t - self.t
        self.page, self.t = self._next, t
        self._next = next(self._pages, None)
        return True

    def advance_to(self, now: float) -> None:
        """On to the page that stood at ``now``."""
        while not self.ended and self.next_t <= now:
            self.advance()

    def _read(self) -> Iterator[Scrape]:
        last = float("-inf")
        for scrape in scrapes(Stream(self.path, LIMIT_BYTES)):
            # A recorder's clock may have stepped back; a clock that is served must not.
            if scrape.t is not None and scrape.t > last and (scrape.whole or scrape.error):
                last = scrape.t
                yield scrape


def _time(scrape: Scrape) -> float:
    assert scrape.t is not None, "pages without a time are left out when they are read"
    return scrape.t


def _metrics_file(folder: Path) -> Path:
    for name in NAMES:
        if (folder / name).is_file():
            return folder / name
    raise NotARecording(f"{folder} is no recording: it has no {NAMES[0]}", "whystall record makes such folders")

"""The last minutes of one server's pages, in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from whystall.model.recording import FailedScrape, Floats, SeriesKey, SeriesTable
from whystall.sources.exposition import Page

# Scrapes that are taken as known before any was seen, one of them lost: a network of which little is known may lose some.
_KNOWN = 10
# Bounds one server's share of the memory: ten thousand series for a quarter of an hour at 5 s take 1.8 million.
MOST_SAMPLES = 6_000_000


class KeptPage(NamedTuple):
    """A page and when it came. ``keys`` is what its ids point into; it only ever grows."""

    t: float
    page: Page
    keys: Sequence[SeriesKey]


class Window:
    """Pages and failed scrapes in order of time. The oldest go once :meth:`forget` names a time, or there are too many."""

    def __init__(self) -> None:
        self.pages: deque[KeptPage] = deque()
        self.failed: deque[FailedScrape] = deque()
        self._samples = 0

    @property
    def last(self) -> float | None:
        """When the newest page came, None before the first."""
        return self.pages[-1].t if self.pages else None

    def add(self, t: float, page: Page, keys: Sequence[SeriesKey]) -> None:
        """Take a page; one that is not newer than the last is left out, as where a clock stepped back."""
        if self.pages and t <= self.pages[-1].t:
            return
        self.pages.append(KeptPage(t, page, keys))
        self._samples += len(page.ids)
        while self._samples > MOST_SAMPLES and len(self.pages) > 2:
            self._drop()

    def fail(self, t: float, error: str) -> None:
        """Note a scrape that gave no page."""
        self.failed.append(FailedScrape(t, error))

    def lost_singly(self, before: float, fewer: int) -> float:
        """Share of the scrapes before a time that gave no page, those of ``fewer`` and more in a row left out.

        Of few scrapes the share is not known to be small: one in ``_KNOWN`` is put beside them.
        """
        came = [(kept.t, 1) for kept in self.pages if kept.t < before]
        lost = [(scrape.t, 0) for scrape in self.failed if scrape.t < before]
        runs = [len(list(run)) for page, run in groupby(page for _, page in sorted(came + lost)) if not page]
        singly = sum(run for run in runs if run < fewer)
        return min((singly + 1) / (singly + len(came) + _KNOWN), 0.5)

    def forget(self, before: float) -> None:
        """Let go of what is older than ``before`` (unix seconds)."""
        while self.pages and self.pages[0].t < before:
            self._drop()
        while self.failed and self.failed[0].t < before:
            self.failed.popleft()

    def _drop(self) -> None:
        self._samples -= len(self.pages.popleft().page.ids)

    def table(self, start: float = float("-inf")) -> SeriesTable:
        """The pages from ``start`` on as one table, with only the series that are on one of them."""
        pages = [kept for kept in self.pages if kept.t >= start]
        failed = tuple(scrape for scrape in self.failed if scrape.t >= start)
        if not pages:
            return SeriesTable(np.zeros(0), (), np.zeros((0, 0)), failed=failed)
        keys, columns = _on_one_list(pages)
        values = np.full((len(keys), len(pages)), np.nan)
        for place, (ids, page) in enumerate(zip(columns, pages, strict=True)):
            values[ids, place] = page.page.values
        there = np.isfinite(values).any(axis=1)
        kept = tuple(key for key, seen in zip(keys, there, strict=True) if seen)
        times = np.array([page.t for page in pages])
        return SeriesTable(times, kept, values[there], dict(pages[-1].page.types), failed)


def _on_one_list(pages: list[KeptPage]) -> tuple[Sequence[SeriesKey], list[np.ndarray[tuple[int], np.dtype[np.int64]]]]:
    """The keys of all pages, and each page's ids into them. A new connection reads with a list of its own."""
    first = pages[0].keys
    if all(page.keys is first for page in pages):
        return first, [page.page.ids for page in pages]
    place: dict[SeriesKey, int] = {}
    columns = []
    for page in pages:
        ids = [place.setdefault(page.keys[ident], len(place)) for ident in page.page.ids.tolist()]
        columns.append(np.array(ids, dtype=np.int64))
    return tuple(place), columns


def dense(page: Page, count: int) -> Floats:
    """The page's values by id, NaN where it has none."""
    values = np.full(count, np.nan)
    values[page.ids] = page.values
    return values

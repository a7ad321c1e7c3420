"""Pages over time to one table."""

from __future__ import annotations

import numpy as np

from whystall.errors import TooLarge
from whystall.model.recording import FailedScrape, SeriesTable

from .exposition import Page, PageParser

MAX_CELLS = 200_000_000  # 1.6 GB of float64


class TableBuilder:
    """Collects the pages of one parser. Times must not go back; what to do when they do is the caller's choice."""

    def __init__(self, parser: PageParser) -> None:
        self._parser = parser
        self._times: list[float] = []
        self._pages: list[Page] = []
        self._failed: list[FailedScrape] = []
        self.duplicates = 0
        self.nan_samples: dict[int, int] = {}  # by series: how many samples stood as NaN on their page

    def __len__(self) -> int:
        return len(self._pages)

    def add(self, t: float, page: Page) -> None:
        """Takes the page scraped at ``t`` (unix seconds)."""
        self._times.append(t)
        self._pages.append(page)
        self.duplicates += page.duplicates
        nan = np.isnan(page.values)
        if nan.any():
            for ident in page.ids[nan].tolist():
                self.nan_samples[ident] = self.nan_samples.get(ident, 0) + 1

    def fail(self, t: float, error: str) -> None:
        """Notes a scrape that gave no page: the error's name and text."""
        self._failed.append(FailedScrape(t, error))

    def table(self) -> SeriesTable:
        """Everything so far. Raises :class:`TooLarge` where it would not fit in memory."""
        keys = tuple(self._parser.keys)
        if len(keys) * len(self._pages) > MAX_CELLS:
            raise TooLarge(
                f"{len(keys):,} series in {len(self._pages):,} scrapes do not fit in memory",
                "Cut the recording into shorter ones, or record one server.",
            )
        values = np.full((len(self._pages), len(keys)), np.nan)
        types: dict[str, str] = {}
        for row, page in zip(values, self._pages, strict=True):
            row[page.ids] = page.values
            types.update(page.types)
        return SeriesTable(np.array(self._times), keys, np.ascontiguousarray(values.T), types, tuple(self._failed))

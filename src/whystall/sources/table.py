"""Pages over time to one table."""

from __future__ import annotations

import msgspec
import numpy as np

from whystall.errors import TooLarge
from whystall.model.recording import FailedScrape, SeriesTable

from .exposition import Page, PageParser

MAX_CELLS = 200_000_000  # 1.6 GB of float64
_BLOCK = 256  # scrapes that are turned from pages to series at once
_HINT = "Cut the recording into shorter ones, or record one server."


class TableBuilder:
    """Collects the pages of one parser. Times must not go back; what to do when they do is the caller's choice."""

    def __init__(self, parser: PageParser) -> None:
        self._parser = parser
        self._times: list[float] = []
        self._pages: list[Page] = []
        self._failed: list[FailedScrape] = []
        self._samples = 0
        self.duplicates = 0
        self.nan_samples: dict[int, int] = {}  # by series: how many samples stood as NaN on their page

    def __len__(self) -> int:
        return len(self._pages)

    def add(self, t: float, page: Page) -> None:
        """Takes the page scraped at ``t`` (unix seconds). Raises :class:`TooLarge` where memory would not do."""
        self._samples += len(page.ids)
        if self._samples > MAX_CELLS:
            raise TooLarge(f"over {MAX_CELLS:,} samples in {len(self._pages):,} scrapes do not fit in memory", _HINT)
        if self._pages and np.array_equal(self._pages[-1].ids, page.ids):
            page = msgspec.structs.replace(
                page, ids=self._pages[-1].ids
            )  # most pages have the series of the one before
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
        count = len(self._pages)
        if len(keys) * count > MAX_CELLS:
            raise TooLarge(f"{len(keys):,} series in {count:,} scrapes do not fit in memory", _HINT)
        values = np.empty((len(keys), count))
        for start in range(0, count, _BLOCK):
            pages = self._pages[start : start + _BLOCK]
            block = np.full((len(pages), len(keys)), np.nan)
            for row, page in zip(block, pages, strict=True):
                row[page.ids] = page.values
            values[:, start : start + len(pages)] = block.T
        return SeriesTable(np.array(self._times), keys, values, dict(self._parser.types), tuple(self._failed))

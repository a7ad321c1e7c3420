"""A recording's metrics file to a table, and what had to be handled on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from whystall.errors import NotMetrics
from whystall.model.recording import FailedScrape, InputWarning, SeriesTable
from whystall.sources.dialects import quantity
from whystall.sources.exposition import Page, PageParser
from whystall.sources.table import TableBuilder

from .clock import risen
from .foreign import LOOK_BYTES, require_ours
from .notices import notice
from .scrapes import Scrape, scrapes
from .stream import Stream

LIMIT_BYTES = 8 * 1024**3  # read in pieces: a day of a busy server at one scrape a second
_CUMULATIVE = frozenset(("bucket", "sum", "count"))


class MetricsFile(msgspec.Struct, frozen=True):
    """The table of one metrics file and its warnings."""

    table: SeriesTable
    warnings: tuple[InputWarning, ...]


class _Reading:
    """The pages of one file, one page held back: whether the last one is whole is known only at the end."""

    def __init__(self, file: str, modified: float) -> None:
        self.file = file
        self.parser = PageParser()
        self.builder = TableBuilder(self.parser)
        self.first_error: NotMetrics | None = None
        self.bad = self.same_time = self.cut = 0
        self.failed: list[tuple[int, FailedScrape]] = []  # each with the number of pages before it
        self._modified = modified
        self._held: tuple[float, Page, bool] | None = None
        self._before: Page | None = None

    def take(self, scrape: Scrape) -> None:
        t = scrape.t if scrape.t is not None else self._modified
        if scrape.error:
            self._fail(t, scrape.error)
        elif not scrape.page:
            self.cut += 1
        else:
            self._page(t, scrape)

    def _page(self, t: float, scrape: Scrape) -> None:
        try:
            page = self.parser.parse(scrape.page)
        except NotMetrics as error:
            if scrape.whole or scrape.t is None:
                self.bad += 1
                self.first_error = self.first_error or error
                self._fail(t, f"{type(error).__name__}: {error.message}")
            else:
                self.cut += 1
            return
        if self._held and self._held[0] == t:
            self.same_time += 1
            self._held = None
        self._flush()
        self._held = (t, page, scrape.whole)

    def _fail(self, t: float, error: str) -> None:
        self.failed.append((len(self.builder) + (self._held is not None), FailedScrape(t, error)))

    def _flush(self) -> None:
        if self._held:
            t, page, _ = self._held
            self._before = page
            self.builder.add(t, page)
            self._held = None

    def end(self) -> None:
        """Takes the page held back, unless it is half a page: no end of line, or just the beginning of the one before."""
        if self._held and self._before is not None:
            _, page, whole = self._held
            if not whole or _begins(self._before, page):
                self._held = None
                self.cut += 1
        self._flush()

    def table(self) -> tuple[SeriesTable, int]:
        """The table with times that rise, and the number of steps back that were taken out."""
        table = self.builder.table()
        times, steps = risen(table.times)
        moved = np.append(0.0, times - table.times)
        failed = tuple(FailedScrape(fail.t + float(moved[pages]), fail.error) for pages, fail in self.failed)
        return msgspec.structs.replace(table, times=times, failed=failed), steps


def _begins(whole: Page, part: Page) -> bool:
    """Whether ``part`` has the first series of ``whole`` and no others."""
    length = len(part.ids)
    return length < len(whole.ids) and np.array_equal(whole.ids[:length], part.ids)


def read_metrics(path: Path) -> MetricsFile:
    """Reads a metrics file, plain or gzip, with scrape markers or one bare page (its time is the file's).

    Raises :class:`NotMetrics` where no page could be read, :class:`TooLarge` over the limits.
    """
    stream = Stream(path, LIMIT_BYTES)
    reading = _Reading(path.name, path.stat().st_mtime)
    for scrape in scrapes(_looked_at(path.name, stream)):
        reading.take(scrape)
    reading.end()
    if not len(reading.builder):
        raise _nothing(path, reading)
    table, steps = reading.table()
    warnings = [*_about_stream(path.name, stream), *_about_pages(reading, len(table.times))]
    if steps:
        warnings.append(notice("clock_step", path.name, count=steps))
    warnings += take_out_impossible(path.name, table, reading.builder.nan_samples)
    return MetricsFile(table, tuple(warnings))


def _looked_at(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same pieces; refuses at the first one what is another kind of file, and a page that does not end."""
    for number, chunk in enumerate(chunks):
        if not number:
            require_ours(name, chunk[:LOOK_BYTES])
        yield chunk


def _nothing(path: Path, reading: _Reading) -> NotMetrics:
    hint = "Record again with: whystall record http://HOST:8000 -o FOLDER --for 60s"
    if reading.first_error is not None:
        return NotMetrics(f"{path.name}: {reading.first_error.message}", hint)
    if reading.failed:
        said = f"all {len(reading.failed):,} scrapes failed, so there is nothing to read"
        return NotMetrics(f"{path.name}: {said}; the first: {reading.failed[0][1].error}", hint)
    return NotMetrics(f"{path.name} holds no whole page", hint)


def _about_stream(file: str, stream: Stream) -> list[InputWarning]:
    found = []
    if stream.truncated:
        found.append(notice("truncated_gzip", file))
    if stream.damaged:
        found.append(notice("damaged_gzip", file))
    return found


def _about_pages(reading: _Reading, pages: int) -> list[InputWarning]:
    found = []
    if reading.cut:
        found.append(notice("cut_page", reading.file))
    if reading.bad and reading.first_error:
        found.append(notice("bad_page", reading.file, count=reading.bad, first=reading.first_error.message))
    failed = len(reading.failed) - reading.bad
    if failed:
        total = pages + len(reading.failed)
        found.append(notice("failed_scrapes", reading.file, count=failed, total=total))
    if reading.same_time:
        found.append(notice("duplicate_scrape", reading.file, count=reading.same_time))
    if reading.builder.duplicates:
        found.append(notice("duplicate_series", reading.file, count=reading.builder.duplicates))
    return found


def take_out_impossible(file: str, table: SeriesTable, nan_samples: dict[int, int]) -> list[InputWarning]:
    """Takes counter samples that no counter has out of the table, and says how many were NaN already."""
    rows = [row for row, key in enumerate(table.keys) if _is_cumulative(key.name, table.types)]
    wrong = 0
    for row in rows:
        values = table.values[row]
        bad = (values < 0) | np.isinf(values)
        if bad.any() and not table.keys[row].name.endswith("_sum"):  # a sum of negative observations may be negative
            wrong += int(np.count_nonzero(bad))
            values[bad] = np.nan
    nans = sum(nan_samples.get(row, 0) for row in rows)
    found = [notice("nan_values", file, count=nans)] if nans else []
    return [*found, notice("negative_counter", file, count=wrong)] if wrong else found


def _is_cumulative(name: str, types: dict[str, str]) -> bool:
    known = quantity(name)
    if known is not None and known.part in _CUMULATIVE:
        return True
    return types.get(name) == "counter" or (known is not None and name.endswith("_total"))

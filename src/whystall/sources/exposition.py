"""Prometheus text pages to numbers, fast on the pages that one server sends one after the other.

Successive pages of a server hold nearly the same series in nearly the same order, so the parser remembers the text
before each value (comments above it included) and compares it in place: no splitting, no hashing, no label parsing for
a series that was seen before. Only a series that is new, or that stands elsewhere, takes the slower path through a
dictionary and :mod:`whystall.sources.sample_line`. The values of a page are decoded as one JSON array.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.errors import NotMetrics, TooLarge
from whystall.model.recording import SeriesKey

from .sample_line import BadLine, key_end, read_key, value_after_key

MAX_PAGE_BYTES = 64 * 1024 * 1024
MAX_SERIES = 2_000_000  # over all pages of one parser: bounds memory against labels that never repeat
_LOOK_AHEAD = 64  # series that may have left the page before the remembered order is given up for this page
_NEVER = "\0"  # in no page

_HINT = "Give the address of the server's own /metrics, for vLLM http://HOST:8000/metrics."
_numbers = msgspec.json.Decoder(list[float])


class Page(msgspec.Struct, frozen=True):
    """One page. ``ids`` are indices into the parser's ``keys``, ``values`` the samples, both in the page's order.

    A series that stands twice keeps its last value; ``duplicates`` counts what was left out. ``types`` is the parser's
    growing map from the names of ``# TYPE`` lines to counter, gauge, histogram, summary, untyped or what else they say.
    """

    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    types: dict[str, str]
    duplicates: int = 0


class PageParser:
    """Parses the pages of one server. Keep one across scrapes: what it has learnt makes the next page cheap."""

    def __init__(self) -> None:
        self.keys: list[SeriesKey] = []
        self.types: dict[str, str] = {}
        self._id_of_key: dict[SeriesKey, int] = {}
        self._id_of_text: dict[str, int] = {}
        self._prefixes: list[str] = [_NEVER]  # the last page's texts before each value, in order
        self._order: list[int] = []

    def parse(self, page: bytes) -> Page:
        """Raises :class:`NotMetrics` with the line that is no sample, :class:`TooLarge` over 64 MB or 2 M series."""
        text = _decoded(page)
        ids, rests = self._match(text)
        if not ids:
            raise NotMetrics("the page holds comments but no samples" if text.strip() else "the page is empty", _HINT)
        return self._page(np.array(ids, dtype=np.int64), np.array(self._values(text, rests), dtype=np.float64))

    def _page(self, ids: NDArray[np.int64], values: NDArray[np.float64]) -> Page:
        last = np.empty(len(self.keys), dtype=np.int64)
        here = np.arange(len(ids))
        last[ids] = here  # the last writer wins
        kept = last[ids] == here
        duplicates = len(ids) - int(np.count_nonzero(kept))
        if duplicates:
            ids, values = ids[kept], values[kept]
        return Page(ids, values, self.types, duplicates)

    def _match(self, page: str) -> tuple[list[int], list[str]]:
        """The series of each sample line, and what follows its key."""
        prefixes, order = self._prefixes, self._order
        ids: list[int] = []
        rests: list[str] = []
        seen: list[str] = []
        at = position = 0
        size = len(page)
        while position < size:
            prefix = prefixes[at]
            if page.startswith(prefix, position):
                ident = order[at]
                at += 1
            else:
                ident, prefix = self._find(page, position)
                if ident < 0:
                    break
                at = _resume(order, ident, at)
            start = position + len(prefix)
            position = page.find("\n", start)
            if position < 0:
                position = size
            ids.append(ident)
            seen.append(prefix)
            rests.append(page[start:position])
            position += 1
        seen.append(_NEVER)
        self._prefixes, self._order = seen, ids
        return ids, rests

    def _find(self, page: str, position: int) -> tuple[int, str]:
        """The series at or after ``position`` and the text up to its value; -1 where only comments are left."""
        start = position
        while start < len(page):
            end = page.find("\n", start)
            line = page[start : len(page) if end < 0 else end]
            if line[:1] == "#" or not line or line.isspace() or line.lstrip()[0] == "#":
                self._note_type(line, page, start)
                start += len(line) + 1
                continue
            text = line.rpartition(" ")[0]
            ident = self._known(text)
            if ident is not None:
                return ident, page[position : start + len(text) + 1]
            ident, length = self._find_slowly(line, page, start)
            return ident, page[position : start + length]
        return -1, ""

    def _known(self, text: str) -> int | None:
        ident = self._id_of_text.get(text)
        if ident is None and (key := read_key(text)) is not None:
            ident = self._id(key)
            if len(self._id_of_text) < MAX_SERIES:
                self._id_of_text[text] = ident
        return ident

    def _find_slowly(self, line: str, page: str, start: int) -> tuple[int, int]:
        """The series of a line with a timestamp, an exemplar or odd blanks, and where its value starts."""
        blanks = len(line) - len(line.lstrip())
        try:
            key, end = key_end(line[blanks:])
        except BadLine as bad:
            raise _refused(page, start, str(bad)) from None
        end += blanks
        return self._id(key), end + (line[end : end + 1] in (" ", "\t"))

    def _id(self, key: SeriesKey) -> int:
        ident = self._id_of_key.setdefault(key, len(self.keys))
        if ident == len(self.keys):
            if ident >= MAX_SERIES:
                raise TooLarge(f"more than {MAX_SERIES:,} different series", "Scrape fewer targets at once.")
            self.keys.append(key)
        return ident

    def _note_type(self, line: str, page: str, start: int) -> None:
        words = line.split(None, 3)
        if len(words) > 1 and words[0] == "#" and words[1] == "TYPE":
            if len(words) < 4:
                raise _refused(page, start, "a TYPE line without a type")
            if len(self.types) < MAX_SERIES:
                self.types[words[2].strip('"')] = words[3].strip()

    def _values(self, page: str, rests: list[str]) -> list[float]:
        try:
            values = _numbers.decode("[" + ",".join(rests) + "]")
            if len(values) == len(rests):
                return values
        except msgspec.DecodeError:
            pass  # NaN and infinities are not JSON, nor are timestamps and exemplars, nor is a line that is no sample
        try:
            if not any("_" in rest for rest in rests):  # float() would take 1_000
                return list(map(float, rests))
        except ValueError:
            pass
        return self._values_slowly(page, rests)

    def _values_slowly(self, page: str, rests: list[str]) -> list[float]:
        values = []
        for number, rest in enumerate(rests):
            try:
                values.append(value_after_key(rest))
            except BadLine as bad:
                before = zip(self._prefixes[:number], rests, strict=False)
                start = sum(len(prefix) + len(value) + 1 for prefix, value in before) + len(self._prefixes[number]) - 1
                raise _refused(page, page.rfind("\n", 0, start) + 1, str(bad)) from None
        return values


def _decoded(page: bytes) -> str:
    if len(page) > MAX_PAGE_BYTES:
        raise TooLarge(
            f"the metrics page has {len(page) / 1e6:.0f} MB, over the {MAX_PAGE_BYTES / 1e6:.0f} MB that are read",
            "Give the address of one server's /metrics rather than of a federation or a whole cluster.",
        )
    if page[:1024].lstrip()[:1] == b"<":
        raise NotMetrics("line 1: the page is HTML, not Prometheus text", _HINT)
    at = page.find(b"\0")
    if at >= 0:
        raise NotMetrics(f"line {_line_number(page, at)}: the page is binary", _HINT)
    try:
        return page.decode()
    except UnicodeDecodeError as error:
        raise NotMetrics(f"line {_line_number(page, error.start)}: the page is not UTF-8 text", _HINT) from None


def _line_number(page: bytes, at: int) -> int:
    return page.count(b"\n", 0, at) + 1


def _resume(order: list[int], ident: int, at: int) -> int:
    """Where the remembered order goes on after a series that stood elsewhere; ``at`` where it is not near."""
    try:
        return order.index(ident, at, at + _LOOK_AHEAD) + 1
    except ValueError:
        return at


def _refused(page: str, start: int, why: str) -> NotMetrics:
    line = page[start : start + 80].partition("\n")[0].strip()
    number = page.count("\n", 0, start) + 1
    return NotMetrics(f"line {number}: {why} in {line!r}", _HINT)

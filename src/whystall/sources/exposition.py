"""Prometheus text pages to numbers, fast on the pages that one server sends one after the other.

Successive pages of a server hold nearly the same series in nearly the same order, so the parser remembers the text
before each value (comments above it included) and compares it in place: no splitting, no hashing, no label parsing for
a series that was seen before. Only a series that is new, or that stands elsewhere, takes the slower path through a
dictionary and :mod:`whystall.sources.sample_line`. The values of a page are decoded as one JSON array.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.errors import NotMetrics, TooLarge
from whystall.model.recording import SeriesKey

from .sample_line import BadLine, key_end, read_key, value_after_key

MAX_PAGE_BYTES = 64 * 1024 * 1024
MAX_SERIES = 2_000_000  # over all pages of one parser: bounds memory against labels that never repeat
_LOOK_AHEAD = 64  # series that may have left the page before the remembered order is given up for this page
_BLANK_OR_COMMENT = (b"", b"#", b" ", b"\t", b"\r")
_LOOK_BYTES = 1024  # enough to see that a page is another kind of file
# What opens JSON and no sample: a list, or an object's first key; a sample may open with {"its.name"}.
_JSON = re.compile(rb"\s*(?:\[|\{\s*(?:\}\s*\Z|\"(?:[^\"\\]|\\.)*+\"\s*:))")

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
        self._id_of_text: dict[bytes, int] = {}
        self._prefixes: list[bytes] = []  # the last page's texts before each value, in order
        self._order: list[int] = []

    def parse(self, page: bytes) -> Page:
        """Raises :class:`NotMetrics` with the line that is no sample, :class:`TooLarge` over 64 MB or 2 M series."""
        _check(page)
        page = page if page.endswith(b"\n") else page + b"\n"
        ids, rests = self._match(page)
        if not ids:
            raise NotMetrics("the page holds comments but no samples" if page.strip() else "the page is empty", _HINT)
        return self._page(np.array(ids, dtype=np.int64), np.array(self._values(page, rests), dtype=np.float64))

    def _page(self, ids: NDArray[np.int64], values: NDArray[np.float64]) -> Page:
        last = np.empty(len(self.keys), dtype=np.int64)
        here = np.arange(len(ids))
        last[ids] = here  # the last writer wins
        kept = last[ids] == here
        duplicates = len(ids) - int(np.count_nonzero(kept))
        if duplicates:
            ids, values = ids[kept], values[kept]
        return Page(ids, values, self.types, duplicates)

    def _match(self, page: bytes) -> tuple[list[int], list[bytes]]:
        """The series of each sample line, and what follows its key. The page ends with an end of line."""
        prefixes, order, seen_before = self._prefixes, self._order, len(self.keys)
        ids: list[int] = []
        rests: list[bytes] = []
        seen: list[bytes] = []
        starts, find, append = page.startswith, page.find, rests.append  # bound once: this loop is the parser's cost
        expected = iter(prefixes)
        at = position = 0
        while position < len(page):
            before = len(rests)
            for prefix in expected:
                if not starts(prefix, position):
                    break
                start = position + len(prefix)
                position = find(b"\n", start)
                append(page[start:position])
                position += 1
            same = at + len(rests) - before
            ids += order[at:same]
            seen += prefixes[at:same]
            ident, start, end = self._find(page, position)
            if ident < 0:
                break
            ids.append(ident)
            seen.append(page[position:start])
            append(page[start:end])
            position = end + 1
            at = _resume(order, ident, same) if ident < seen_before else same
            if at + 1 < len(prefixes) and starts(prefixes[at + 1], position):
                at += 1  # it stood in the place of another
            expected.__setstate__(at)  # type: ignore[attr-defined]  # where the iterator goes on
        self._prefixes, self._order = seen, ids
        return ids, rests

    def _find(self, page: bytes, position: int) -> tuple[int, int, int]:
        """The first series from ``position`` on, where its value starts and where its line ends; -1 where none is left."""
        start = position
        while start < len(page):
            end = page.index(b"\n", start)
            line = page[start:end]
            if line[:1] not in _BLANK_OR_COMMENT:
                text = line.rpartition(b" ")[0]
                ident = self._known(text, page, start)
                if ident is not None:
                    return ident, start + len(text) + 1, end
            if line and not line.isspace() and line.lstrip()[:1] != b"#":
                ident, length = self._find_slowly(line, page, start)
                return ident, start + length, end
            self._note_type(line, page, start)
            start = end + 1
        return -1, start, start

    def _known(self, text: bytes, page: bytes, start: int) -> int | None:
        ident = self._id_of_text.get(text)
        if ident is None and (key := read_key(_decoded(text, page, start))) is not None:
            ident = self._id(key)
            if len(self._id_of_text) < MAX_SERIES:
                self._id_of_text[text] = ident
        return ident

    def _find_slowly(self, line: bytes, page: bytes, start: int) -> tuple[int, int]:
        """The series of a line with a timestamp, an exemplar or odd blanks, and where its value starts."""
        text = _decoded(line, page, start)
        blanks = len(text) - len(text.lstrip())
        try:
            key, end = key_end(text[blanks:])
        except BadLine as bad:
            raise _refused(page, start, str(bad)) from None
        end += blanks
        end += text[end : end + 1] in (" ", "\t")
        return self._id(key), len(text[:end].encode())

    def _id(self, key: SeriesKey) -> int:
        ident = self._id_of_key.setdefault(key, len(self.keys))
        if ident == len(self.keys):
            if ident >= MAX_SERIES:
                raise TooLarge(f"more than {MAX_SERIES:,} different series", "Scrape fewer targets at once.")
            self.keys.append(key)
        return ident

    def _note_type(self, line: bytes, page: bytes, start: int) -> None:
        words = line.split(None, 3)
        if len(words) > 1 and words[0] == b"#" and words[1] == b"TYPE":
            if len(words) < 4:
                raise _refused(page, start, "a TYPE line without a type")
            if len(self.types) < MAX_SERIES:
                self.types[_decoded(words[2].strip(b'"'), page, start)] = _decoded(words[3].strip(), page, start)

    def _values(self, page: bytes, rests: list[bytes]) -> list[float]:
        try:
            values = _numbers.decode(b"[" + b",".join(rests) + b"]")
            if len(values) == len(rests):
                return values
        except msgspec.DecodeError:
            pass  # NaN and infinities are not JSON, nor are timestamps and exemplars, nor is a line that is no sample
        try:
            if not any(b"_" in rest for rest in rests):  # float() would take 1_000
                return list(map(float, rests))
        except ValueError:
            pass
        return self._values_slowly(page, rests)

    def _values_slowly(self, page: bytes, rests: list[bytes]) -> list[float]:
        values = []
        position = 0
        for prefix, rest in zip(self._prefixes, rests, strict=True):
            position += len(prefix)
            try:
                values.append(value_after_key(rest.decode("utf-8", "replace")))
            except BadLine as bad:
                raise _refused(page, page.rfind(b"\n", 0, position) + 1, str(bad)) from None
            position += len(rest) + 1
        return values


def is_json(start: bytes) -> bool:
    """Whether a text that begins so is JSON, which a sample with a quoted name (``{"its.name"} 1``) is not."""
    return _JSON.match(start) is not None


def require_size(length: int) -> None:
    """Raises :class:`TooLarge` where a page has more than the bytes that are read."""
    if length > MAX_PAGE_BYTES:
        raise TooLarge(
            f"the metrics page has {length / 1e6:.0f} MB, over the {MAX_PAGE_BYTES / 1e6:.0f} MB that are read",
            "Give the address of one server's /metrics rather than of a federation or a whole cluster.",
        )


def _check(page: bytes) -> None:
    require_size(len(page))
    start = page[:_LOOK_BYTES]
    if start.lstrip()[:1] == b"<":
        raise NotMetrics("line 1: the page is HTML, not Prometheus text", _HINT)
    if is_json(start):
        raise NotMetrics("line 1: the page is JSON, not Prometheus text", _HINT)


def _decoded(text: bytes, page: bytes, start: int) -> str:
    try:
        if b"\0" not in text:
            return text.decode()
    except UnicodeDecodeError:
        raise _refused(page, start, "the page is not UTF-8 text") from None
    raise _refused(page, start, "the page is binary")


def _resume(order: list[int], ident: int, at: int) -> int:
    """Where the remembered order goes on after a series that stood elsewhere; ``at`` where it is not near."""
    window = order[at : at + _LOOK_AHEAD]
    return at + window.index(ident) + 1 if ident in window else at


def _refused(page: bytes, start: int, why: str) -> NotMetrics:
    line = page[start : start + 80].partition(b"\n")[0].strip()
    shown = f" in {line.decode('utf-8', 'replace')!r}" if b"\0" not in line else ""  # nobody reads bytes
    number = page.count(b"\n", 0, start) + 1
    return NotMetrics(f"line {number}: {why}{shown}", _HINT)

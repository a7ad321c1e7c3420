"""An answer of the query API, and the table of each server that it tells of.

A week holds a thousand million samples, so no Python object is made for a sample: a series' values stay bytes until their
punctuation is dropped and the rest is decoded as one array of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from whystall.errors import NotMetrics
from whystall.model.recording import FailedScrape, Floats, SeriesKey, SeriesTable

# The labels that Prometheus itself adds; with them apart, a series reads as it stood on the page.
_ADDED = ("instance", "job")
_LABELS = msgspec.json.Decoder(dict[str, str])
_NUMBERS = msgspec.json.Decoder(list[float])
_PAIRS = msgspec.json.Decoder(list[tuple[float, str]])


class Buckets(msgspec.Struct, frozen=True):
    """A native histogram at one moment. A bucket is (boundary rule, lower, upper, count), all but the rule as text."""

    count: str
    sum: str
    buckets: list[tuple[int, str, str, str]] = []


class Series(msgspec.Struct, frozen=True):
    """One series of a matrix as JSON: its labels, and classic samples, or native histograms."""

    metric: msgspec.Raw = msgspec.Raw(b"{}")
    values: msgspec.Raw = msgspec.Raw(b"[]")
    histograms: list[tuple[float, Buckets]] = []

    def labels(self) -> dict[str, str]:
        """Raises NotMetrics where they are none."""
        return _labels(bytes(self.metric))

    def columns(self) -> tuple[Floats, Floats]:
        """Times and values of the classic samples. Raises NotMetrics."""
        return columns_of(bytes(self.values))


class Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str = ""
    result: list[Series] = []


class Answered(msgspec.Struct, frozen=True, rename="camel"):
    """The envelope of every answer of the API."""

    status: str
    data: Data | None = None
    error: str = ""
    error_type: str = ""


Pieces = list[tuple[Floats, Floats]]
Columns = dict[tuple[str, SeriesKey], Pieces]


class Samples:
    """The columns of each series (the server's instance, the series as on its page), piece by piece in order of time."""

    def __init__(self) -> None:
        self.columns: Columns = {}
        self._known: dict[bytes, tuple[str, SeriesKey]] = {}  # by the labels' own text: it comes again in each piece

    def gather(self, series: Iterable[Series]) -> None:
        """Add an answer's samples; native histograms as classic ones. Raises NotMetrics for what is no series."""
        for one in series:
            text = bytes(one.metric)
            place = self._known.get(text)
            if place is None:
                place = self._known[text] = _place(_labels(text))
            self.add(*place, *one.columns())
            for t, native in one.histograms:
                self._classic(*place, t, native)

    def add(self, server: str, key: SeriesKey, times: Floats, values: Floats) -> None:
        """More samples of one series."""
        there = np.isfinite(values)  # a staleness marker is NaN: the series was not there
        if not there.all():
            times, values = times[there], values[there]
        if len(times):
            self.columns.setdefault((server, key), []).append((times, values))

    def _classic(self, server: str, key: SeriesKey, t: float, native: Buckets) -> None:
        """Cumulative counts at the native buckets' upper bounds; a page that is read as vLLM writes it has classic ones."""
        for ending, more, text in _cumulative(native):
            value = _number(text)
            if value is not None:
                name = SeriesKey(key.name + ending, tuple(sorted((*key.labels, *more))))
                self.add(server, name, np.array([t]), np.array([value]))


def _cumulative(native: Buckets) -> Iterator[tuple[str, tuple[tuple[str, str], ...], str]]:
    total = 0.0
    for _, _, upper, count in sorted(native.buckets, key=lambda bucket: float(bucket[2])):
        total += float(count)
        yield "_bucket", (("le", upper),), str(total)
    yield "_bucket", (("le", "+Inf"),), native.count
    yield "_sum", (), native.sum
    yield "_count", (), native.count


def _place(labels: dict[str, str]) -> tuple[str, SeriesKey]:
    own = tuple(sorted((name, value) for name, value in labels.items() if name not in (*_ADDED, "__name__")))
    return labels.get("instance", ""), SeriesKey(labels.get("__name__", ""), own)


def _labels(text: bytes) -> dict[str, str]:
    try:
        return _LABELS.decode(text)
    except msgspec.DecodeError:
        raise NotMetrics("a series of the answer has no labels", "check the address, and proxies between") from None


def columns_of(text: bytes) -> tuple[Floats, Floats]:
    """Times and values of ``[[time, "value"], …]`` as the API writes it. Raises NotMetrics for other JSON."""
    try:
        flat = np.array(_NUMBERS.decode(b"[" + text.translate(None, b'[]"') + b"]"))
    except msgspec.DecodeError:  # NaN and infinities are not JSON
        return _slowly(text)
    count = len(flat) // 2
    pairs = (len(flat), text.count(b'"'), text.count(b"["), text.count(b"]")) == (
        2 * count,
        2 * count,
        count + 1,
        count + 1,
    )
    return (flat[0::2], flat[1::2]) if pairs else _slowly(text)


def _slowly(text: bytes) -> tuple[Floats, Floats]:
    try:
        pairs = [(t, value) for t, told in _PAIRS.decode(text) if (value := _number(told)) is not None]
    except msgspec.DecodeError:
        raise NotMetrics("a series of the answer has no samples", "check the address, and proxies between") from None
    return np.array([t for t, _ in pairs]), np.array([value for _, value in pairs])


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def servers(samples: Samples) -> dict[str, SeriesTable]:
    """A table for each instance; a scrape that failed (``up`` 0) is one of its failed scrapes."""
    by_server: dict[str, list[tuple[SeriesKey, Pieces]]] = {}
    for (server, key), pieces in samples.columns.items():
        by_server.setdefault(server, []).append((key, pieces))
    return {server: table_of(rows) for server, rows in sorted(by_server.items())}


def table_of(rows: Sequence[tuple[SeriesKey, Pieces]]) -> SeriesTable:
    """The table of these series, at all times at which any of them has a sample."""
    seen = [(key, *_joined(pieces)) for key, pieces in rows]
    page = [one for one in seen if one[0].name != "up"]
    times = _all_times([t for _, t, _ in page])
    values = np.full((len(page), len(times)), np.nan)
    for row, (_, t, found) in enumerate(page):
        values[row, slice(None) if len(t) == len(times) else np.searchsorted(times, t)] = found
    failed = tuple(
        FailedScrape(float(t), "scrape failed (up is 0)")
        for key, at, up in seen
        if key.name == "up"
        for t in at[up == 0].tolist()
    )
    return SeriesTable(times, tuple(key for key, _, _ in page), values, failed=failed)


def _joined(pieces: Pieces) -> tuple[Floats, Floats]:
    """The pieces as one, each time once: where two have the same, the later piece's value."""
    times = np.concatenate([t for t, _ in pieces])
    values = np.concatenate([v for _, v in pieces])
    if (np.diff(times) > 0).all():
        return times, values
    kept, first = np.unique(times[::-1], return_index=True)
    return kept, values[::-1][first]


def _all_times(columns: Sequence[Floats]) -> Floats:
    """All times of all series; those of one page mostly have the same."""
    found: list[Floats] = []
    for t in columns:
        if not any(len(t) == len(known) and np.array_equal(t, known) for known in found[-4:]):
            found.append(t)
    return np.unique(np.concatenate(found)) if found else np.zeros(0)

"""An answer of the query API, and the table of each server that it tells of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from whystall.model.recording import FailedScrape, SeriesKey, SeriesTable

# The labels that Prometheus itself adds; with them apart, a series reads as it stood on the page.
_ADDED = ("instance", "job")


class Buckets(msgspec.Struct, frozen=True):
    """A native histogram at one moment. A bucket is (boundary rule, lower, upper, count), all but the rule as text."""

    count: str
    sum: str
    buckets: list[tuple[int, str, str, str]] = []


class Series(msgspec.Struct, frozen=True):
    """One series of a matrix: classic samples, or native histograms."""

    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    histograms: list[tuple[float, Buckets]] = []


class Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str = ""
    result: list[Series] = []


class Answered(msgspec.Struct, frozen=True, rename="camel"):
    """The envelope of every answer of the API."""

    status: str
    data: Data | None = None
    error: str = ""
    error_type: str = ""


Samples = dict[tuple[str, SeriesKey], dict[float, float]]


def gather(series: Iterable[Series], into: Samples) -> None:
    """Add an answer's samples under (the server's instance, the series as on its page); native histograms as classic."""
    for one in series:
        server = one.metric.get("instance", "")
        labels = {name: value for name, value in one.metric.items() if name not in (*_ADDED, "__name__")}
        name = one.metric.get("__name__", "")
        for t, text in one.values:
            _put(into, server, name, labels, t, text)
        for t, native in one.histograms:
            _classic(into, server, name, labels, t, native)


def _put(into: Samples, server: str, name: str, labels: dict[str, str], t: float, text: str) -> None:
    try:
        value = float(text)
    except ValueError:
        return
    if math.isfinite(value):  # a staleness marker is NaN: the series was not there
        into.setdefault((server, SeriesKey(name, tuple(sorted(labels.items())))), {})[t] = value


def _classic(into: Samples, server: str, name: str, labels: dict[str, str], t: float, native: Buckets) -> None:
    """Cumulative counts at the native buckets' upper bounds; a page that is read as vLLM writes it has classic ones."""
    total = 0.0
    for _, _, upper, count in sorted(native.buckets, key=lambda bucket: float(bucket[2])):
        total += float(count)
        _put(into, server, f"{name}_bucket", labels | {"le": upper}, t, str(total))
    _put(into, server, f"{name}_bucket", labels | {"le": "+Inf"}, t, native.count)
    _put(into, server, f"{name}_sum", labels, t, native.sum)
    _put(into, server, f"{name}_count", labels, t, native.count)


def servers(samples: Samples) -> dict[str, SeriesTable]:
    """A table for each instance; a scrape that failed (``up`` 0) is one of its failed scrapes."""
    by_server: dict[str, list[tuple[SeriesKey, dict[float, float]]]] = {}
    for (server, key), points in samples.items():
        by_server.setdefault(server, []).append((key, points))
    return {server: table_of(rows) for server, rows in sorted(by_server.items())}


def table_of(rows: Sequence[tuple[SeriesKey, dict[float, float]]]) -> SeriesTable:
    """The table of these series, at all times at which any of them has a sample."""
    up = next((points for key, points in rows if key.name == "up"), {})
    page = [(key, points) for key, points in rows if key.name != "up"]
    times = np.array(sorted({t for _, points in page for t in points}))
    place = {t: i for i, t in enumerate(times.tolist())}
    values = np.full((len(page), len(times)), np.nan)
    for row, (_, points) in enumerate(page):
        values[row, [place[t] for t in points]] = list(points.values())
    failed = tuple(FailedScrape(t, "scrape failed (up is 0)") for t, value in sorted(up.items()) if value == 0)
    return SeriesTable(times, tuple(key for key, _ in page), values, failed=failed)

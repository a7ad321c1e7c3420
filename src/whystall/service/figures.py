"""A few figures of each engine straight from its page: cheap enough to look at with every scrape."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.recording import Floats, SeriesKey
from whystall.sources.dialects import quantity, shadowed

_GAUGES = {"num_requests_running": "running", "num_requests_waiting": "waiting", "kv_cache_usage_perc": "kv_ratio"}
_COUNTERS = {
    "generation_tokens": "tokens",
    "num_preemptions": "preemptions",
    "admission_rejections": "rejections",
    "http_requests": "answers",
}
_HISTOGRAMS = {
    "time_to_first_token_seconds": "ttft",
    "inter_token_latency_seconds": "itl",
    "request_queue_time_seconds": "queue",
    "request_prefill_time_seconds": "prefill",
    "request_decode_time_seconds": "decode",
    "e2e_request_latency_seconds": "e2e",
}
_OF_THE_SERVER = {"answers", "errors"}  # the API process counts them for all engines
Ids = NDArray[np.int64]


class Figures(msgspec.Struct):
    """What one page says of one engine, cumulative where the page is; NaN where it says nothing.

    ``sums`` and ``counts`` are a histogram's totals by its short name, ``buckets`` its cumulative counts by upper bound.
    """

    t: float
    running: float = math.nan
    waiting: float = math.nan
    kv_ratio: float = math.nan
    tokens: float = math.nan
    preemptions: float = math.nan
    rejections: float = math.nan
    answers: float = math.nan
    errors: float = math.nan
    sums: dict[str, float] = {}
    counts: dict[str, float] = {}
    buckets: dict[str, tuple[Floats, Floats]] = {}


class Index:
    """Where on the pages of one connection each figure stands. Made anew when series came."""

    def __init__(self, keys: Sequence[SeriesKey]) -> None:
        self._keys = keys
        self._known = 0
        self._places: dict[str, dict[str, list[int]]] = {}
        self._bounds: dict[str, dict[str, list[tuple[float, int]]]] = {}
        self._server: dict[str, list[int]] = {}

    def engines(self) -> list[str]:
        """The ``engine`` labels that have a running gauge, in order."""
        self._look()
        return sorted(label for label, places in self._places.items() if "running" in places)

    def read(self, label: str, t: float, values: Floats) -> Figures:
        """The figures of engine ``label``; ``values`` holds the page by id."""
        self._look()
        found = Figures(t, sums={}, counts={}, buckets={})
        for name, places in {**self._places.get(label, {}), **self._server}.items():
            self._put(found, name, _sum(values, places))
        for name, bounds in self._bounds.get(label, {}).items():
            edges = sorted({edge for edge, _ in bounds})
            at = [_sum(values, [place for edge, place in bounds if edge == one]) for one in edges]
            found.buckets[name] = (np.array(edges), np.array(at))
        return found

    @staticmethod
    def _put(found: Figures, name: str, value: float) -> None:
        short, _, part = name.partition(".")
        if part == "sum":
            found.sums[short] = value
        elif part == "count":
            found.counts[short] = value
        else:
            setattr(found, short, value)

    def _look(self) -> None:
        if len(self._keys) == self._known:
            return
        self._known = len(self._keys)
        old = shadowed(key.name for key in self._keys)
        places: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        bounds: dict[str, dict[str, list[tuple[float, int]]]] = defaultdict(lambda: defaultdict(list))
        self._server = defaultdict(list)
        for place, key in enumerate(self._keys):
            if key.name not in old:
                self._note(place, key, places, bounds)
        self._places, self._bounds = places, bounds

    def _note(
        self,
        place: int,
        key: SeriesKey,
        places: dict[str, dict[str, list[int]]],
        bounds: dict[str, dict[str, list[tuple[float, int]]]],
    ) -> None:
        found = quantity(key.name)
        if found is None:
            return
        label = key.label("engine")
        if found.name in _HISTOGRAMS and found.part == "bucket":
            edge = _edge(key.label("le"))
            if math.isfinite(edge):
                bounds[label][_HISTOGRAMS[found.name]].append((edge, place))
        elif found.name in _HISTOGRAMS and found.part in ("sum", "count"):
            places[label][f"{_HISTOGRAMS[found.name]}.{found.part}"].append(place)
        elif found.part == "value" and (name := _GAUGES.get(found.name) or _COUNTERS.get(found.name)):
            if name == "answers":
                self._server["answers"].append(place)
                if key.label("status").startswith("5"):
                    self._server["errors"].append(place)
            else:
                places[label][name].append(place)


def _edge(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _sum(values: Floats, places: Sequence[int]) -> float:
    found = values[np.array([place for place in places if place < len(values)], dtype=np.int64)]
    found = found[np.isfinite(found)]
    return float(found.sum()) if len(found) else math.nan


def increase(before: float, after: float) -> float:
    """What a counter rose by; after a restart what it has counted since. NaN where it was not seen."""
    rise = after - before
    return after if rise < 0 else rise


def mean_over(before: Figures, after: Figures, name: str) -> float:
    """The mean of a histogram's observations between two pages; NaN where there were none."""
    count = increase(before.counts.get(name, math.nan), after.counts.get(name, math.nan))
    total = increase(before.sums.get(name, math.nan), after.sums.get(name, math.nan))
    return total / count if count > 0 else math.nan

"""What a ticket states of the host: memory that grows, and a quota that stops the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .figure import figure
from .leaf import Leaf, path_of

_GROWING = re.compile(r"_(?:rss|host_mem\w*|resident|host_memory|ram|anon|memory_g[i]?b)_")
_LEAST_GROWTH = 1.05  # heaps breathe by less
_ENDS = (("start", "end"), ("first", "last"), ("before", "after"), ("begin", "end"), ("t0", "t1"))
_STOPPED = re.compile(r"_(?:cfs|cpu|cgroup|container)_(?:\w+_)?throttl\w*_|_throttled_periods_|_nr_throttled_|_cfs_")
_ABSOLUTE = re.compile(r"_(?:s|ms|us|sec|seconds|count|total|periods_total)_$")
_LEAST_STOPPED = 0.1  # one period in ten: under it a burst that is paid back


def host_losses(symptoms: dict[Any, Any], leaves: list[Leaf]) -> Iterator[tuple[str, float]]:
    """(feature, how many times worse) of resident memory that grew and of a CPU quota that throttled."""
    for key, value in symptoms.items():
        if _GROWING.search(path_of(str(key))):
            yield from _grown(value)
    yield from _suffixed(symptoms)
    for leaf in leaves:
        stated = figure(leaf.value) if _STOPPED.search(leaf.path) and not _ABSOLUTE.search(leaf.key) else None
        if stated is None:
            continue
        percent = re.search(r"_(?:pct|percent)_", leaf.key) or stated.unit == "%"
        share = stated.middle / 100 if percent else stated.middle
        if _LEAST_STOPPED <= share <= 1:
            yield "cpu", 1 / (1 - min(share, 0.95))


def _grown(value: Any) -> Iterator[tuple[str, float]]:
    """Resident memory from its first to its last figure, where time lies between."""
    ends: list[float] = []
    if isinstance(value, dict):
        sides = {str(k).lower().split("_")[0]: f.middle for k, v in value.items() if (f := figure(v)) is not None}
        ends = next(([sides[a], sides[b]] for a, b in _ENDS if a in sides and b in sides), [])
        hours = sorted(
            (float(m[1]), v) for k, v in sides.items() if (m := re.fullmatch(r"(?:h|t|day|d)?(\d{1,4})[hd]?", k))
        )
        ends = ends or [v for _, v in hours]
    elif isinstance(value, list):
        numbers = [figure(_size(item) if isinstance(item, dict) else item) for item in value[:1000]]
        ends = [f.middle for f in numbers if f is not None] if all(numbers) else []
    elif isinstance(value, str) and (stated := figure(value)) is not None:
        ends = [stated.low, stated.high]
    if len(ends) >= 2 and ends[0] > 0 and ends[-1] >= _LEAST_GROWTH * ends[0] and ends[-1] == max(ends):
        yield "leak", ends[-1] / ends[0]


def _size(row: dict[Any, Any]) -> Any:
    return next((v for k, v in row.items() if re.search(r"g[i]?b|m[i]?b|rss|mem", str(k).lower())), None)


def _suffixed(symptoms: dict[Any, Any]) -> Iterator[tuple[str, float]]:
    """``rss_start_gib`` and ``rss_end_gib``: the ends in the names."""
    sides: dict[str, Any] = {}
    for key, value in symptoms.items():
        path = path_of(str(key))
        if _GROWING.search(path) and not isinstance(value, dict | list):
            sides |= {word: value for pair in _ENDS for word in pair if f"_{word}_" in path}
    yield from _grown(sides)

"""The way back: from a quantity to the names that it has on pages, for whoever writes a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from .entry import MetricEntry, Part

Style = Literal["vllm", "ray"]
STYLES: tuple[Style, ...] = get_args(Style)
_SUFFIX: dict[Part, str] = {"value": "", "bucket": "_bucket", "sum": "_sum", "count": "_count", "created": "_created"}


def page_names(entry: MetricEntry, part: Part = "value", style: Style = "vllm") -> tuple[str, ...]:
    """The raw names of ``part`` of a quantity, the newest first; through Ray's metrics page with ``style`` ``ray``."""
    names = (entry.name, *(alias.name for alias in entry.aliases))
    return tuple(dict.fromkeys(_prefix(entry, style) + raw for name in names for raw in _raw(name, entry, part, style)))


def _prefix(entry: MetricEntry, style: Style) -> str:
    return "ray_vllm_" if style == "ray" and entry.prefix else entry.prefix


def _raw(name: str, entry: MetricEntry, part: Part, style: Style) -> Iterator[str]:
    if entry.type == "counter" and part == "value":
        yield f"{name}_total"
        if style == "ray" and entry.prefix:
            yield name  # Ray writes a counter as it was named, and by version with the suffix too
    else:
        yield name + _SUFFIX[part]

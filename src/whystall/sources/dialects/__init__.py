"""From an engine's metric names, old and new, to our quantities. One table a dialect; lookups are cached here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import msgspec

from whystall.model.recording import SeriesKey

from . import process, sglang, vllm, vllm_subsystems
from .entry import Alias, MetricEntry, Part, Quantity

__all__ = [
    "Alias",
    "MetricEntry",
    "Quantity",
    "VersionRange",
    "describe",
    "engine_of",
    "entries",
    "guess_version",
    "quantity",
    "shadowed",
    "unknown_names",
]

_TABLES = (vllm.ENTRIES, vllm_subsystems.ENTRIES, process.ENTRIES)
# Ray writes ':' as '_' and puts its own name before; so does anything that allows no ':' in a name.
_PREFIXES = ("vllm:", "ray_vllm_", "ray_vllm:", "vllm_")
_ENGINE = "vllm:"
_PARTS: dict[str, tuple[tuple[str, Part], ...]] = {
    "gauge": (("", "value"),),
    "info": (("", "value"),),
    "counter": (("_total", "value"), ("", "value"), ("_created", "created"), ("_total_created", "created")),
    "histogram": (("_bucket", "bucket"), ("_sum", "sum"), ("_count", "count"), ("_created", "created")),
    "summary": (("", "value"), ("_sum", "sum"), ("_count", "count"), ("_created", "created")),
}


class VersionRange(msgspec.Struct, frozen=True):
    """What the names on a page say of the version: first and last that fit, "" where they do not bound it."""

    since: str = ""
    until: str = ""


def quantity(raw_name: str) -> Quantity | None:
    """What a raw metric name on a page stands for, in any version and through Ray; None where no table has it."""
    found = _names().get(_plain(raw_name))
    return found[0] if found else None


def describe(name: str) -> MetricEntry | None:
    """The entry of a quantity by its canonical name, an alias, or any raw name on a page."""
    found = _names().get(_plain(name))
    return found[2] if found else _entries().get(name) or _by_alias().get(name)


def entries() -> tuple[MetricEntry, ...]:
    """All quantities of all tables."""
    return tuple(_entries().values())


def unknown_names(keys: Iterable[SeriesKey]) -> tuple[str, ...]:
    """Raw names of the engine that no table has: most likely of a newer version."""
    return tuple(
        sorted(name for name in {key.name for key in keys} if name.startswith(_PREFIXES) and not quantity(name))
    )


def shadowed(raw_names: Iterable[str]) -> frozenset[str]:
    """Old names that stand beside their new name on one page (0.9.2 to 0.11.2 do so): count only the new one."""
    names = set(raw_names)
    current = {found[0] for name in names if (found := _names().get(_plain(name))) and not found[1]}
    return frozenset(
        name for name in names if (found := _names().get(_plain(name))) and found[1] and found[0] in current
    )


def engine_of(raw_names: Iterable[str]) -> str:
    """The program whose page has these names: ``sglang``, or ``vllm``."""
    return "sglang" if any(name.startswith(sglang.PREFIX) for name in raw_names) else "vllm"


def guess_version(raw_names: Iterable[str]) -> VersionRange:
    """The range of vLLM versions whose names these are (by presence, and absence of names that are always there)."""
    own = {name for name in raw_names if not name.startswith(sglang.PREFIX)}
    found = [hit for name in own if (hit := _names().get(_plain(name))) and hit[2].prefix]
    if not found:
        return VersionRange()
    since = [alias.since if alias else entry.since for _, alias, entry in found]
    until = [alias.until if alias else entry.until for _, alias, entry in found]
    there = {hit[0].name for hit in found if not hit[1]}
    absent = [_BEFORE[version] for name, version in vllm.ALWAYS_SINCE.items() if name not in there]
    last = sorted([version for version in [*until, *absent] if version], key=_order)
    return VersionRange(max(since, key=_order), last[0] if last else "")


# The last sampled version before one that brought a name.
_BEFORE = {"0.9.2": "0.9.1", "0.16": "0.15.1", "0.20.2": "0.19.1", "0.30": "0.29.0", "0.32": "0.31.0"}


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version else ()


def _plain(raw_name: str) -> str:
    for prefix in _PREFIXES:
        if raw_name.startswith(prefix):
            return _ENGINE + raw_name[len(prefix) :]
    return raw_name


@cache
def _entries() -> dict[str, MetricEntry]:
    return {entry.name: entry for table in _TABLES for entry in table}


@cache
def _by_alias() -> dict[str, MetricEntry]:
    return {alias.name: entry for entry in _entries().values() for alias in entry.aliases}


@cache
def _names() -> dict[str, tuple[Quantity, Alias | None, MetricEntry]]:
    """Every raw name, prefix made plain: what it stands for, and the alias where it is an old name."""
    ours = {name: hit for entry in _entries().values() for name, hit in _spellings(entry)}
    return ours | dict(_of_sglang())


def _of_sglang() -> Iterator[tuple[str, tuple[Quantity, Alias | None, MetricEntry]]]:
    for theirs, name in (sglang.NAMES | sglang.OLDER).items():
        entry, alias = _entries()[name], Alias(theirs) if theirs in sglang.OLDER else None
        for suffix, part in _PARTS[entry.type]:
            yield f"{sglang.PREFIX}{theirs}{suffix}", (Quantity(name, part), alias, entry)


def _spellings(entry: MetricEntry) -> Iterator[tuple[str, tuple[Quantity, Alias | None, MetricEntry]]]:
    for suffix, part in _PARTS[entry.type]:
        found = Quantity(entry.name, part)
        yield f"{entry.prefix}{entry.name}{suffix}", (found, None, entry)
        for alias in entry.aliases:
            yield f"{entry.prefix}{alias.name}{suffix}", (found, alias, entry)

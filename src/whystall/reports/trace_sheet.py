"""A titled table of text, and the units of a trace report."""

from __future__ import annotations

import msgspec

from .figures import duration, percent, scaled

TOP = 15  # rows shown of a long table; --json has all
_BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_RATES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"))


class Sheet(msgspec.Struct, frozen=True):
    """A table; ``align`` has a letter a column, l or r. ``note`` is said below it."""

    id: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str
    note: str = ""


def ns(value: float | None) -> str:
    return "–" if value is None else duration(value / 1e9)


def rate(value: float | None, unit: str) -> str:
    return "–" if value is None else scaled(value, tuple((size, f"{name}{unit}") for size, name in _RATES), unit)


def size(value: float | None) -> str:
    return "–" if value is None else scaled(value, _BYTES, "B")


def share(value: float | None) -> str:
    return "–" if value is None else percent(value if abs(value) >= 0.0005 else 0.0)

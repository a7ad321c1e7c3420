"""One setting of a server and where it was read."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

_TRUE = frozenset(("true", "1", "yes"))
_FALSE = frozenset(("false", "0", "no"))
_SUFFIX = {"k": 1e3, "K": 1024.0, "m": 1e6, "M": 1024.0**2, "g": 1e9, "G": 1024.0**3}


class Setting(msgspec.Struct, frozen=True):
    """``value`` as it was written, ``source`` one of server_info, log, argv, metrics, default."""

    value: str
    source: str


def text(found: Mapping[str, Setting], name: str) -> str:
    setting = found.get(name)
    return setting.value if setting else ""


def flag(found: Mapping[str, Setting], name: str) -> bool | None:
    """None where nothing said so, or said neither yes nor no."""
    value = text(found, name).lower()
    return True if value in _TRUE else False if value in _FALSE else None


def number(found: Mapping[str, Setting], name: str) -> float | None:
    """A number, also with vLLM's suffixes: 16k is 16,000 and 16K is 16,384."""
    return as_number(text(found, name))


def as_number(value: str) -> float | None:
    scale = _SUFFIX.get(value[-1:], 1.0)
    digits = value[:-1] if value[-1:] in _SUFFIX else value
    try:
        parsed = float(digits.replace(",", "").replace("_", "")) * scale
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def whole(found: Mapping[str, Setting], name: str) -> int | None:
    value = number(found, name)
    return int(value) if value is not None and value == int(value) else None

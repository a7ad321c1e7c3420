"""Lengths of time as people write them: ``250ms 30s 5m 1h``."""

from __future__ import annotations

import math
import re

from whystall.errors import UsageError

_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(us|ms|s|m|h|d)", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern})+", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds that ``text`` says: a number with a unit (``30s``), several of them (``1m30s``), or bare seconds.

    Raises :class:`~whystall.errors.UsageError` where the text is no length of time over zero.
    """
    seconds = _seconds(text.strip().lower().replace("µ", "u"))
    if seconds == 0:
        raise UsageError(f"{text!r} is no time at all", "Write a number over 0 and a unit: 250ms, 30s, 5m or 1h.")
    if seconds is None or not 0 < seconds < math.inf:
        raise UsageError(f"{text!r} is not a length of time", "Write a number and a unit: 250ms, 30s, 5m or 1h.")
    return seconds


def _seconds(text: str) -> float | None:
    if _WHOLE.fullmatch(text):
        return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(text))
    return float(text) if re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) else None

"""Lengths of time as people write them, ``250ms 30s 5m 1h``, and as they are read to people."""

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


_SPOKEN = {"en": ("µs", "ms", "s", "min", "h", "days"), "zh": ("微秒", "毫秒", "秒", "分钟", "小时", "天")}
_FROM_S = (
    1e-6,
    1e-3,
    1.0,
    120.0,
    7200.0,
    172800.0,
)  # where a unit begins: two of it are more than a hundred of the last
_SIZE_S = (1e-6, 1e-3, 1.0, 60.0, 3600.0, 86400.0)


def spoken(seconds: float, lang: str) -> str:
    """A length of time to two digits, in the unit that a person would use: "31 s", "68 ms", "17 µs", "19.5 min"."""
    if not seconds or not math.isfinite(seconds):
        return f"{plain(seconds, 2)} {_SPOKEN[lang][2]}"
    unit = max((k for k, least in enumerate(_FROM_S) if abs(seconds) >= least), default=0)
    return f"{plain(seconds / _SIZE_S[unit], 3 if unit > 2 else 2)} {_SPOKEN[lang][unit]}"


def plain(value: float, digits: int, sign: str = "") -> str:
    """``value`` to ``digits`` significant digits, thousands grouped, without an exponent: 107, not 1.1e+02; 0.000014 is 0."""
    if not math.isfinite(value):
        return str(value)
    places = max(digits - 1 - math.floor(math.log10(abs(value))), 0) if value else 0
    text = f"{value:{sign},.{min(places, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

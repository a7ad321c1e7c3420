"""Numbers as a person reads them: a sensible unit, three digits, and words where nothing was seen."""

from __future__ import annotations

import datetime
import math

from .phrases import say, say_or

_DURATIONS = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_BYTES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"))
_CLOCKS = ((1e9, "GHz"), (1e6, "MHz"))
_UNITS = {
    "tok/s": "tokens_per_s",
    "1/s": "per_s",
    "1/req": "per_request",
    "req": "requests",
    "req/s": "requests_per_s",
    "cores": "cores",
    "events": "events",
    "tokens": "tokens",
    "GPUs": "gpus",
    "ranks": "ranks",
    "stages": "stages",
    "starts": "starts",
    "settings": "settings",
    "lines": "lines",
}
MANIFOLD = 2.0  # from here on "2.9×" reads better than "290%"
_SIGNS = {"x": "×", "count": "", "": "", "1": "", "c": "°C", "celsius": "°C"}


def seen(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def figure(value: float | None, unit: str, lang: str) -> str:
    """``value`` in ``unit`` (``s ratio bytes Hz x req tokens tok/s 1/s W`` or any other word) as text."""
    if value is None or math.isnan(value):
        return say("not_seen", lang)
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if unit in ("s", "seconds"):
        return duration(value)
    if unit in ("ratio", "share"):
        return percent(value) if abs(value) < MANIFOLD else f"{number(value)}×"
    if unit == "flag":
        return flag(value, lang)
    if unit in ("bytes", "B"):
        return scaled(value, _BYTES, "B")
    if unit.lower() == "hz":
        return scaled(value, _CLOCKS, "Hz")
    return _with_unit(number(value), unit, lang)


def _with_unit(text: str, unit: str, lang: str) -> str:
    sign = _SIGNS.get(unit.lower())
    if sign is not None:
        return text + sign
    key = f"unit_{_UNITS[unit]}" if unit in _UNITS else ""
    name = say_or(key, unit.removeprefix("1").replace("_", " "), lang)
    if text == "1" and lang == "en" and "/" not in name:
        name = name.removesuffix("s")
    return f"{text}{name}" if name.startswith("/") else f"{text} {name}"


def flag(value: float, lang: str) -> str:
    """A truth that evidence carries as 0 or 1."""
    return say("yes" if value else "no", lang)


def number(value: float) -> str:
    """Three significant digits under 1,000, whole numbers with separators above."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else str(value)
    if value == int(value) or abs(value) >= 1000:
        return f"{value + 0.0:,.0f}"  # -0.0 is 0
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(digits, 9)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(ratio: float) -> str:
    """A ratio as a percentage; near 0 and near 1 with a decimal, where it matters."""
    hundred = ratio * 100
    text = f"{hundred:.1f}" if abs(hundred) < 10 or 99 <= hundred < 100 else f"{hundred:.0f}"
    text = text[:-2] if text.endswith(".0") else text
    return f"{text}%"


def probability(value: float) -> str:
    """A probability, never printed as a certainty that it is not."""
    if value > 0.99:
        return ">99%"
    return "<1%" if value < 0.01 else f"{value * 100:.0f}%"


def duration(seconds: float) -> str:
    """Seconds as µs, ms, s or minutes and seconds."""
    size = abs(seconds)
    if size >= 120:
        minutes, rest = divmod(round(size), 60)
        hours, minutes = divmod(minutes, 60)
        sign = "-" if seconds < 0 else ""
        return f"{sign}{hours} h {minutes} min" if hours else f"{sign}{minutes} min {rest} s"
    if size == 0:
        return "0 s"
    scale, name = next(((s, n) for s, n in reversed(_DURATIONS) if size >= s), _DURATIONS[0])
    return f"{number(seconds / scale)} {name}"


def scaled(value: float, scales: tuple[tuple[float, str], ...], smallest: str) -> str:
    for scale, name in scales:
        if abs(value) >= scale:
            return f"{number(value / scale)} {name}"
    return f"{number(value)} {smallest}"


def change(ratio: float) -> str:
    """A relative change: -0.5 is "-50%"."""
    return "0%" if round(ratio * 100) == 0 else f"{ratio * 100:+.0f}%"


def clock(unix: float) -> str:
    """Time of day in UTC; a time that no calendar has is given as it is."""
    try:
        return datetime.datetime.fromtimestamp(unix, datetime.UTC).strftime("%H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{unix:g}"


def day_and_clock(unix: float) -> str:
    try:
        return datetime.datetime.fromtimestamp(unix, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{unix:g}"

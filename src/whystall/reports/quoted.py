"""Are the figures of a text those of the JSON that it was made from? Numbers with their units, and rounding allowed.

A figure that is not there rejects the text: better our own words than a number that nobody measured.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

# Seconds, bytes and so on of one unit. A bare number has the kind "".
_UNITS: dict[str, tuple[str, float]] = {
    "%": ("ratio", 0.01), "percent": ("ratio", 0.01), "per cent": ("ratio", 0.01),
    "x": ("ratio", 1.0), "×": ("ratio", 1.0), "times": ("ratio", 1.0), "fold": ("ratio", 1.0), "倍": ("ratio", 1.0),
    "ns": ("s", 1e-9), "µs": ("s", 1e-6), "μs": ("s", 1e-6), "us": ("s", 1e-6), "微秒": ("s", 1e-6),
    "ms": ("s", 1e-3), "milliseconds": ("s", 1e-3), "millisecond": ("s", 1e-3), "毫秒": ("s", 1e-3),
    "s": ("s", 1.0), "sec": ("s", 1.0), "secs": ("s", 1.0), "second": ("s", 1.0), "seconds": ("s", 1.0), "秒": ("s", 1.0),
    "min": ("s", 60.0), "mins": ("s", 60.0), "minute": ("s", 60.0), "minutes": ("s", 60.0),
    "分钟": ("s", 60.0), "分": ("s", 60.0),
    "h": ("s", 3600.0), "hour": ("s", 3600.0), "hours": ("s", 3600.0), "小时": ("s", 3600.0),
    "kb": ("bytes", 1e3), "mb": ("bytes", 1e6), "gb": ("bytes", 1e9), "tb": ("bytes", 1e12),
    "kib": ("bytes", 2.0**10), "mib": ("bytes", 2.0**20), "gib": ("bytes", 2.0**30), "tib": ("bytes", 2.0**40),
    "hz": ("hz", 1.0), "mhz": ("hz", 1e6), "ghz": ("hz", 1e9),
}  # fmt: skip
_OF_NAME = (("_s", "s"), ("seconds", "s"), ("_bytes", "bytes"), ("ratio", "ratio"), ("probability", "ratio"))
_OF_BESIDE = ("value", "a", "b", "now", "low", "mid", "high", "predicted")
_NO_FIGURES = ("strength", "strengths", "start", "end", "opened", "closed", "at", "started", "ended")  # not for people
_COUNTED = ("causes", "remedies", "engines", "similar")
_OF_UNIT = {"s": "s", "ratio": "ratio", "x": "ratio", "bytes": "bytes", "hz": "hz"}
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_AMOUNT = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
# Not inside a word; a unit that ends in a letter must end there, so that 5 min is five minutes and 5 minds is no figure.
_FIGURE = re.compile(
    rf"(?<![\w.])({_AMOUNT})(?:e([+-]?\d{{1,3}}))?[ \u00a0-]?(?:({_UNIT})(?![a-z]))?", re.IGNORECASE | re.ASCII
)
_RANGE = re.compile(  # "14 to 16 s": the first is seconds too
    rf"[ ]?(?:–|—|-|~|to|and|or|至|到|和)[ ]?(?:{_AMOUNT})[ -]?({_UNIT})(?![a-z])", re.IGNORECASE | re.ASCII
)
_PLAIN = re.compile(r"[^\w]{0,3}[\d.,]{1,30}[^\w]{0,3}", re.ASCII)
_NAMED = re.compile(r"[^\s,;:()\[\]{}\"'`，。；：（）、]*\d[^\s,;:()\[\]{}\"'`，。；：（）、]*")
_MARKER = re.compile(r"^[ \t]*(\d{1,2})[.)、][ \t]", re.MULTILINE)
_FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]+")
_LINK = re.compile(r"(?i)\b(?:https?|ftp|file|javascript|data):|www\.")
_WORDS: dict[str, float] = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "dozen": 12, "dozens": 12, "hundred": 100, "hundreds": 100, "thousand": 1e3, "thousands": 1e3,
    "million": 1e6, "millions": 1e6, "billion": 1e9, "twice": 2, "double": 2, "doubled": 2, "doubles": 2, "triple": 3,
    "tripled": 3, "thrice": 3, "half": 0.5, "halved": 0.5, "halves": 0.5, "third": 1 / 3, "quarter": 0.25, "tenfold": 10,
}  # fmt: skip
_CHINESE: dict[str, float] = {
    "一": 1,
    "两": 2,
    "二": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
    "十": 10,
}
_CHINESE |= {"百": 100, "千": 1e3, "万": 1e4, "亿": 1e8, "半": 0.5}
_HAN = re.compile(rf"([{''.join(_CHINESE)}]+)(?=[倍秒成万亿]|毫秒|分钟|小时|分之)")
_ENGLISH = re.compile(rf"(?<![\w-])({'|'.join(_WORDS)})(?![\w])", re.IGNORECASE)
MOST_NAMED = 5  # of those that are wrong


class Known(NamedTuple):
    """A number of the JSON, in its kind's own unit ("" where it has none)."""

    value: float
    kind: str


def not_from(text: str, source: Any) -> list[str]:
    """What ``text`` says that ``source`` (decoded JSON) does not: figures, flags and links, as they stand in the text.

    A figure may be rounded, be written in another unit of its kind, or be a ratio written as a percentage. Number words and
    Chinese numerals count as figures. Names with digits in them (fp8, p95, a version) must stand in the JSON as they are.
    """
    strings = list(_strings(source))
    whole = "\n".join(strings).casefold()
    known = [*_numbers(source), *(one for string in strings for one in _figures(string))]
    wrong = [flag for flag in _FLAG.findall(text) if flag.casefold() not in whole]
    wrong += _LINK.findall(text)
    rest = _without_names(_without_markers(text), whole)
    for match in _FIGURE.finditer(rest):
        if not _is_known(match, known):
            wrong.append(match.group().strip())
    rest = _FIGURE.sub(" ", rest)
    wrong += _NAMED.findall(rest)
    wrong += [char for char in rest if unicodedata.category(char) in ("No", "Nl")]  # ² and Ⅻ
    wrong += [word for word, value in _worded(rest) if word.casefold() not in whole and not _has(known, value)]
    return list(dict.fromkeys(wrong))[:MOST_NAMED]


def _strings(source: Any) -> Iterator[str]:
    if isinstance(source, str):
        yield source
    elif isinstance(source, dict):
        for key, value in source.items():
            yield key.replace("_", " ")
            yield from _strings(value)
    elif isinstance(source, list):
        for value in source:
            yield from _strings(value)


def _numbers(source: Any, kind: str = "") -> Iterator[Known]:
    """Every number with its kind: by the name it stands under, else by the ``unit`` beside it, else as around it."""
    if isinstance(source, int | float) and not isinstance(source, bool):
        yield Known(float(source), kind)
    elif isinstance(source, list):
        for value in source:
            yield from _numbers(value, kind)
    elif isinstance(source, dict):
        beside = _OF_UNIT.get(str(source.get("unit", "")).casefold(), "s" if "seconds" in source else kind)
        for key, value in source.items():
            if key in _NO_FIGURES:
                continue
            yield from _numbers(value, _kind_of_name(key) or (beside if key in _OF_BESIDE else ""))
            if key in _COUNTED and isinstance(value, list):
                yield Known(float(len(value)), "")


def _kind_of_name(name: str) -> str:
    return "" if "_per_" in name else next((kind for ending, kind in _OF_NAME if name.endswith(ending)), "")


def _figures(text: str) -> Iterator[Known]:
    for match in _FIGURE.finditer(text):
        kind, scale = _UNITS.get((match[3] or "").casefold(), ("", 1.0))
        yield Known(_amount(match) * scale, kind)


def _amount(match: re.Match[str]) -> float:
    # Nobody measures with more digits than a float has; inf is no number of the JSON.
    digits, exponent = match[1].replace(",", ""), int(match[2] or 0)
    return float(f"{digits}e{exponent}") if len(digits) < 20 else math.inf


def _is_known(match: re.Match[str], known: list[Known]) -> bool:
    range_of = None if match[3] else _RANGE.match(match.string, match.end())
    kind, scale = _UNITS.get((match[3] or (range_of[1] if range_of else "")).casefold(), ("", 1.0))
    value, slack = _amount(match), _half_a_place(match)
    if not math.isfinite(value):
        return False
    return any(
        abs(abs(one.value) - value * scale) <= slack * scale + 1e-9 * abs(one.value)
        for one in known
        if _fits(kind, one.kind)
    )


def _fits(said: str, known: str) -> bool:
    # A number that bears no unit in the JSON may be a ratio or a count, but seconds and bytes always bear theirs.
    return said == known or (said in ("", "ratio") and known in ("", "ratio"))


def _half_a_place(match: re.Match[str]) -> float:
    """Half of the last place that is written; whole numbers may be rounded to two digits, not further."""
    digits = match[1].replace(",", "")
    if match[2] or len(digits) >= 20:
        return 0.05 * _amount(match)
    if "." in digits:
        return 0.5 * 10.0 ** -len(digits.partition(".")[2])
    zeros = len(digits) - len(digits.rstrip("0"))
    return 0.5 * 10.0 ** min(zeros, max(len(digits) - 2, 0))


def _has(known: list[Known], value: float) -> bool:
    return any(math.isclose(abs(one.value), value, rel_tol=0.02) for one in known if one.kind in ("", "ratio"))


def _without_markers(text: str) -> str:
    """The text without the numbers of its lists; one out of order is a figure."""
    numbers = iter(range(1, 100))
    expected = next(numbers)

    def blank(match: re.Match[str]) -> str:
        nonlocal expected
        if int(match[1]) == 1:
            expected = 2
            return ""
        if int(match[1]) == expected:
            expected += 1
            return ""
        return match.group()

    return _MARKER.sub(blank, text)


def _without_names(text: str, whole: str) -> str:
    """The text without names, versions and the like that stand in the source as they are; plain numbers stay."""

    def blank(match: re.Match[str]) -> str:
        name = match.group().strip(".").casefold()
        plain = _PLAIN.fullmatch(name) and name.count(".") < 2
        known = not plain and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", whole)
        return " " if known else match.group()

    return _NAMED.sub(blank, text)


def _worded(text: str) -> Iterator[tuple[str, float]]:
    for match in _ENGLISH.finditer(text):
        yield match.group(), float(_WORDS[match.group().casefold()])
    for match in _HAN.finditer(text):
        yield match.group(), _chinese(match.group())


def _chinese(numeral: str) -> float:
    """The value of a short numeral: 三 3, 十二 12, 三十五 35, 两百 200."""
    total, last = 0.0, 0.0
    for char in numeral:
        value = float(_CHINESE[char])
        if value >= 10:
            total, last = total + (last or 1.0) * value, 0.0
        else:
            last = value
    return total + last

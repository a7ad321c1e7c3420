"""Numbers as people write them: ``~100k``, ``15-40``, ``<1``, ``2.5 s``, ``161 of 168``."""

from __future__ import annotations

import re

import msgspec

_NUMBER = r"(\d{1,15}(?:,\d{3})*(?:\.\d{1,12})?(?:e-?\d{1,3})?)\s?([kKM])?(?![\w.]*\d*x\b)"
_ONE = re.compile(rf"\s*(?:about |around |up to )?([~≈<>]=?)?\s*{_NUMBER}")
_MORE = re.compile(rf"\s*(?:-|–|/|\.\.|->|to|vs)\s*[~<>]?=?\s*{_NUMBER}")
# A rate may stand behind words that hold numbers of their own: "12 stages 0.5..18 RPS".
_RATE = re.compile(r"(\d[\d.\s~-]{0,60})\s?(?:RPS|rps|req/s)\b")
_OF = re.compile(rf"\s*of\s*{_NUMBER}(?:\s*-\s*{_NUMBER})?")
_UNIT = re.compile(r"\s*(%|us|ms|s|sec|seconds|min|minutes|h|hours|rps|req/s|tok/s)\b|\s*(%)", re.IGNORECASE)
_SCALE = {"k": 1e3, "K": 1e3, "M": 1e6, None: 1.0}
_MOST = 1e15  # as many digits as are read of a text; more is no measurement
SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0, "minutes": 60.0}
SECONDS |= {"h": 3600.0, "hours": 3600.0}


class Figure(msgspec.Struct, frozen=True):
    """One statement of a number: the least and the most of it (equal for one number). ``unit`` where its text has one."""

    low: float
    high: float
    unit: str = ""

    def scaled(self, factor: float) -> Figure:
        return Figure(self.low * factor, self.high * factor, self.unit)

    def at(self, share: float) -> float:
        """The value after ``share`` of the time: a range is passed through from its first number to its second."""
        return self.low + (self.high - self.low) * share

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


def figure(value: object) -> Figure | None:
    """The number that a value states; None for text that begins with none, truth values and what is no number."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return Figure(float(value), float(value)) if abs(value) <= _MOST else None  # False for NaN
    return _of_text(value[:200]) if isinstance(value, str) else None


def _of_text(text: str) -> Figure | None:
    rate = _RATE.search(text)
    text = rate[0] if rate else text
    first = _ONE.match(text)
    if first is None:
        return None
    numbers, end = [_value(first[2], first[3])], first.end()
    while (more := _MORE.match(text, end)) is not None and len(numbers) < 20:
        numbers.append(_value(more[1], more[2]))
        end = more.end()
    whole = _OF.match(text, end)
    if whole is not None:  # 161-168 of 162-168 samples
        total = [_value(whole[1], whole[2])] + ([_value(whole[3], whole[4])] if whole[3] else [])
        share = sum(numbers) / len(numbers) / max(sum(total) / len(total), 1e-12)
        return Figure(share, share, "ratio")
    unit = _UNIT.match(text, end)
    named = (unit[1] or unit[2]).lower() if unit else ""
    if len(numbers) > 2:
        return Figure(min(numbers), max(numbers), named)
    return Figure(numbers[0], numbers[-1], named)


def _value(text: str, scale: str | None) -> float:
    return float(text.replace(",", "")) * _SCALE[scale]

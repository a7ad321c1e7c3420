"""When nobody is to be told: maintenance windows and silences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from whystall.errors import UsageError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\Z")


class Silence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[[watch.silences]]``: incidents of these targets (shell patterns) and causes are kept, and nobody is told.

    Once from ``start`` to ``end`` (ISO 8601; either may be left out), or every week on ``days`` from ``begin`` to ``until``
    (``22:00``; over midnight where the second is the smaller) in ``zone``. ``reason`` is shown.
    """

    targets: tuple[str, ...] = ("*",)
    causes: tuple[str, ...] = ()
    reason: str = "silenced"
    start: str = ""
    end: str = ""
    days: tuple[str, ...] = ()
    begin: str = ""
    until: str = ""
    zone: str = "UTC"

    def check(self) -> None:
        """Raises UsageError naming what cannot be read."""
        for text in (self.start, self.end):
            _moment(text) if text else None
        for text in (self.begin, self.until):
            _minutes(text) if text else None
        if bool(self.begin) != bool(self.until):
            raise UsageError("a weekly silence needs begin and until", 'Write begin = "22:00" and until = "04:00".')
        unknown = [day for day in self.days if day not in DAYS]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is no day", f"Days are {', '.join(DAYS)}.")
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise UsageError(f"{self.zone!r} is no time zone", "Write one as Europe/Berlin, or UTC.") from None

    def covers(self, target: str, cause: str, at: float) -> bool:
        """Whether an incident of ``target`` with ``cause`` is silenced at ``at`` (unix seconds)."""
        if not any(fnmatchcase(target, pattern) for pattern in self.targets):
            return False
        if self.causes and cause not in self.causes:
            return False
        if self.start and at < _moment(self.start):
            return False
        return (not self.end or at < _moment(self.end)) and self._in_week(at)

    def _in_week(self, at: float) -> bool:
        if not self.begin:
            return not self.days or DAYS[self._local(at).weekday()] in self.days
        local = self._local(at)
        minute, begin, until = local.hour * 60 + local.minute, _minutes(self.begin), _minutes(self.until)
        if begin <= until:
            return begin <= minute < until and self._on(local.weekday())
        # Over midnight: the small hours belong to the day before.
        return (minute >= begin and self._on(local.weekday())) or (
            minute < until and self._on((local.weekday() - 1) % 7)
        )

    def _on(self, day: int) -> bool:
        return not self.days or DAYS[day] in self.days

    def _local(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, ZoneInfo(self.zone))


def silenced(silences: Sequence[Silence], target: str, cause: str, at: float) -> str:
    """The reason of the first silence that covers it, "" where none does."""
    return next((one.reason for one in silences if one.covers(target, cause, at)), "")


def _moment(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no time", "Write it as 2026-12-01T02:00:00Z.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _minutes(text: str) -> int:
    found = _TIME.match(text)
    if found is None:
        raise UsageError(f"{text!r} is no time of day", "Write it as 22:00.")
    return int(found[1]) * 60 + int(found[2])

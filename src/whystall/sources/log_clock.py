"""When a log line was written: vLLM's lines lack the year and the time zone.

The year is the one that puts the line nearest to the recording, so a log that crosses New Year is read right. The zone
is a multiple of 15 minutes. It comes, in this order, from

1. ``process_start_time_seconds`` on the page against a line that says that the server starts;
2. UTC, where that puts some of the log into the recording's window;
3. the log's last line against the window's end, since a log is mostly copied when a recording ends.

Where it is known when the last line was written, as with a file that is followed, that comes first of all.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

_QUARTER_S = 900.0
_FARTHEST_S = 14 * 3600.0
_START_UP_S = 180.0  # importing takes 5 to 60 s, the engine's own line comes a minute later
_CLOCK_S = 5.0  # the log's seconds are cut, and two hosts' clocks may differ
_KEPT = 100_000
_LAST = 20  # lines: those of several processes are not quite in order


class LogAnchor(msgspec.Struct, frozen=True):
    """What is known of the time, unix seconds (NaN: not known): the recording's window, the API process's start, and when
    the last line was ``written``."""

    start: float
    end: float
    process_start: float = math.nan
    written: float = math.nan


class NaiveClock:
    """Turns ``MM-DD HH:MM:SS`` into seconds as if it were UTC, in the year nearest to ``reference``."""

    def __init__(self, reference: float) -> None:
        self._reference = reference
        self._year = datetime.fromtimestamp(reference, UTC).year
        self._seconds: dict[str, float | None] = {}  # lines of one second follow one another

    def seconds(self, text: str, fraction: str | None = None) -> float | None:
        """None where the text is no time, such as February 30."""
        if text not in self._seconds:
            if len(self._seconds) > _KEPT:
                self._seconds.clear()
            self._seconds[text] = self._nearest(text)
        found = self._seconds[text]
        return found + float("0." + fraction[1:]) if found is not None and fraction else found

    def iso(self, text: str) -> float | None:
        """Seconds of a text with a year and without a zone, or of ``MM-DD HH:MM:SS``."""
        try:
            return datetime.fromisoformat(text.replace(",", ".")).replace(tzinfo=UTC).timestamp()
        except (ValueError, OverflowError):
            return self._nearest(text) if len(text) == len("MM-DD HH:MM:SS") else None

    def _nearest(self, text: str) -> float | None:
        if len(text) > len("MM-DD HH:MM:SS"):
            return self.iso(text)
        candidates = []
        for year in (self._year - 1, self._year, self._year + 1):
            try:
                moment = datetime.fromisoformat(f"{year}-{text}")
            except ValueError:
                continue
            candidates.append(float(calendar.timegm(moment.timetuple())))
        return min(candidates, key=lambda t: abs(t - self._reference), default=None)


class LogOffset(msgspec.Struct, frozen=True):
    """Seconds by which the log's clock is ahead of UTC; ``fitted`` where only the log's end could tell."""

    seconds: float
    fitted: bool = False


def offset(starts: Sequence[float], times: Sequence[float], anchor: LogAnchor) -> LogOffset | None:
    """The log's offset; None where there are no times.

    ``starts`` are the times at which the log says that a server starts, ``times`` all of the log.
    """
    if not times:
        return None
    if math.isfinite(anchor.written):
        ahead = _quarter(max(times[-_LAST:]) - anchor.written)
        return LogOffset(ahead if abs(ahead) <= _FARTHEST_S else 0.0)
    zone = _zone(starts, anchor.process_start)
    if zone is not None:
        return LogOffset(zone)
    if max(times) >= anchor.start and min(times) <= anchor.end:
        return LogOffset(0.0)
    fitted = _quarter(max(times) - anchor.end)
    return LogOffset(fitted if abs(fitted) <= _FARTHEST_S else 0.0, fitted=True)


def _zone(starts: Sequence[float], process_start: float) -> float | None:
    """The zone that puts a start of the log just after the process's; of several, that of the last start."""
    if not math.isfinite(process_start):
        return None
    zones = [(start, _quarter(start - process_start)) for start in starts]
    near = [(start, zone) for start, zone in zones if abs(zone) <= _FARTHEST_S]
    just_after = [zone for start, zone in near if -_CLOCK_S <= start - process_start - zone <= _START_UP_S]
    if just_after:
        return just_after[-1]
    return min(near, key=lambda pair: abs(pair[0] - process_start - pair[1]))[1] if near else None


def _quarter(seconds: float) -> float:
    """The nearest quarter of an hour."""
    return round(seconds / _QUARTER_S) * _QUARTER_S

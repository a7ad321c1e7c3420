"""Lines of a server's log for tests, and the clock that they are read by."""

from __future__ import annotations

import datetime as dt

from whystall.model.recording import LogLine
from whystall.sources.log import read_log
from whystall.sources.log_clock import LogAnchor

START = dt.datetime(2026, 11, 30, 1, 0, tzinfo=dt.UTC).timestamp()
ANCHOR = LogAnchor(START, START + 60)


def one(line: str, anchor: LogAnchor = ANCHOR) -> LogLine:
    """The one line that is read of ``line``."""
    (found,) = read_log([line], anchor)
    return found


def line(text: str, t: float = START) -> LogLine:
    """The line that ``text`` should become."""
    return LogLine(t, "INFO", "EngineCore", 1, text)

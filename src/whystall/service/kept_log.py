"""What a server's log said: the lines of its last starts, which tell how it is set, and those of the window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from whystall.model.recording import LogLine
from whystall.sources.log import read_log
from whystall.sources.log_clock import LogAnchor
from whystall.sources.start_up import is_args

MOST_LINES = 20_000  # of the window; bounds one server's share of the memory to some megabytes
START_LINES = 1_000  # a start writes some hundred
STARTS = 2  # a setting that a restart changed shows only beside the start before
BANNER = 12  # lines that stand before the arguments
_ACCESS = ' HTTP/1.1" '  # a line a request, and nothing that a diagnosis reads
_LOUD = ("ERROR", "CRITICAL")


class _Kept(NamedTuple):
    number: int
    at: float
    line: LogLine


class KeptLog:
    """Lines as they come. ``loud`` is set by a line of level ERROR or worse, and stays so until somebody clears it."""

    def __init__(self) -> None:
        self.loud = False
        self._lines: deque[_Kept] = deque(maxlen=MOST_LINES)
        self._starts: deque[list[_Kept]] = deque(maxlen=STARTS)
        self._banner: deque[_Kept] = deque(maxlen=BANNER)
        self._half = b""
        self._count = 0
        self._at = float("-inf")

    def __bool__(self) -> bool:
        return bool(self._lines or self._starts)

    def take(self, chunk: bytes, written: float) -> None:
        """Bytes that were appended to the file, the last of them at ``written`` (unix seconds, the server's clock)."""
        whole, _, self._half = (self._half + chunk).rpartition(b"\n")
        if not whole:
            self._half = self._half[-65_536:]  # no line is that long, and a file of one line must not grow in here
            return
        texts = whole.decode("utf-8", "replace").split("\n")
        self.add(read_log(texts, LogAnchor(written, written, written=written)))

    def add(self, lines: Iterable[LogLine]) -> None:
        """Lines that are newer than those before."""
        for line in lines:
            if _ACCESS not in line.text[-60:]:
                self._add(line)

    def _add(self, line: LogLine) -> None:
        self._at = line.t if line.t is not None else self._at
        self._count += 1
        kept = _Kept(self._count, self._at, line)
        self.loud = self.loud or line.level in _LOUD
        self._lines.append(kept)
        if is_args(line.text):
            self._starts.append(list(self._banner))
        self._banner.append(kept)
        if self._starts and len(self._starts[-1]) < START_LINES:
            self._starts[-1].append(kept)

    def forget(self, before: float) -> None:
        """Let go of what is older than ``before`` (unix seconds); the starts stay."""
        while self._lines and self._lines[0].at < before:
            self._lines.popleft()

    def since(self, start: float) -> tuple[LogLine, ...]:
        """The lines of the last starts, and after them those from ``start`` on."""
        chosen = {kept.number: kept.line for begun in self._starts for kept in begun}
        chosen |= {kept.number: kept.line for kept in self._lines if kept.at >= start}
        return tuple(chosen[number] for number in sorted(chosen))

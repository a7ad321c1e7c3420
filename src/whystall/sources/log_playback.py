"""A recording's log as time passes on the recording's clock."""

from __future__ import annotations

from pathlib import Path

from whystall.errors import NotARecording, NotWritable

from .files.log_file import read_log_file
from .files.metrics import read_metrics
from .files.recording import log_anchor
from .log import read_log

_NAMES = ("server.log", "server.log.gz")


class LogPlayback:
    """Appends each line of a recorded log to ``path`` once its time has come, as the server did; start-up lines at once."""

    def __init__(self, folder: Path, metrics: Path, path: Path) -> None:
        """Makes ``path`` anew. Raises NotARecording where the recording has no log, and NotWritable."""
        recorded = next((folder / name for name in _NAMES if (folder / name).is_file()), None)
        if recorded is None:
            raise NotARecording(f"{folder} has no log to play", "replay it without --log")
        self._path = path
        self._lines = read_log_file(recorded).lines
        self._due = _due(self._lines, metrics)
        self._written = 0
        self._write("", "w")

    def advance_to(self, now: float) -> None:
        """Appends what was logged up to ``now``. Raises NotWritable."""
        at = self._written
        while at < len(self._lines) and self._due[at] <= now:
            at += 1
        if at > self._written:
            self._write("".join(f"{line}\n" for line in self._lines[self._written : at]), "a")
            self._written = at

    def _write(self, text: str, mode: str) -> None:
        try:
            with self._path.open(mode, encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError as error:
            raise NotWritable(f"{self._path} cannot be written: {error.strerror}", "choose another --log") from None


def _due(lines: tuple[str, ...], metrics: Path) -> list[float]:
    """When each line was written; one without a time with the line before it."""
    last = float("-inf")
    found = []
    for line in read_log(lines, log_anchor(read_metrics(metrics).table)):
        last = max(last, line.t) if line.t is not None else last
        found.append(last)
    return found

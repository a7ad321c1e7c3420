"""The server's log file while it grows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from whystall.errors import UsageError

HEAD_BYTES = 512 * 1024
TAIL_BYTES = 2 * 1024 * 1024
LIMIT_BYTES = 64 * 1024 * 1024
_CHUNK = 1024 * 1024


class LogTail:
    """Reads a log file from its start-up lines on.

    Of what was there before, the first 512 kB (a server says at its start how it is configured) and the last 2 MB are
    read, whole lines only; then what is appended, 64 MB in all, or without end where ``endless``. A file that shrinks or
    is replaced (rotation) is read from its new start.
    """

    def __init__(self, path: Path, *, endless: bool = False) -> None:
        """Raises UsageError where the file cannot be read."""
        self.path = path
        self.cut = False  # some lines were left out
        self._endless = endless
        self._left = LIMIT_BYTES
        try:
            if not path.is_file():
                raise UsageError(f"the log {path} is not a file", "give the file that the server writes with --log")
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise UsageError(f"the log {path} cannot be read: {error.strerror}", "check --log and its mode") from None

    def first(self) -> bytes:
        """The start-up lines and the last lines that were there already."""
        size = os.fstat(self._file.fileno()).st_size
        if size <= HEAD_BYTES + TAIL_BYTES:
            return self.more()
        self.cut = True
        head = self._file.read(HEAD_BYTES).rpartition(b"\n")[0]
        self._file.seek(size - TAIL_BYTES)
        self._file.readline()  # most likely half a line
        return head + b"\n" + self.more()

    def more(self) -> bytes:
        """What was appended since the last call; b"" where nothing was, or the limit is reached."""
        try:
            self._reopen_if_replaced()
            chunk = self._file.read(min(self._left, _CHUNK + TAIL_BYTES))
        except OSError:
            return b""  # it went away; it may come back
        self._left -= 0 if self._endless else len(chunk)
        self.cut = self.cut or self._left <= 0
        return chunk

    def written(self) -> float:
        """When the file was last written to (unix seconds)."""
        return os.fstat(self._file.fileno()).st_mtime

    def _reopen_if_replaced(self) -> None:
        there, ours = self.path.stat(), os.fstat(self._file.fileno())
        if (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev):
            if ours.st_size < self._file.tell():
                self._file.seek(0)
        elif self._file.tell() >= ours.st_size:  # first what was still written to the old one
            file = self.path.open("rb")
            self._file.close()
            self._file = file

    def close(self) -> None:
        self._file.close()

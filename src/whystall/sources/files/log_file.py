"""A log file to lines of text, whatever its size and encoding."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import msgspec

from whystall.model.recording import InputWarning

from .notices import notice
from .stream import Stream

HEAD_BYTES = 8 * 1024 * 1024  # the start-up lines say how the server is configured
TAIL_BYTES = 56 * 1024 * 1024
LIMIT_BYTES = 64 * 1024**3


class LogFile(msgspec.Struct, frozen=True):
    """The lines of a log and how the file was."""

    lines: tuple[str, ...]
    warnings: tuple[InputWarning, ...]
    truncated: bool
    damaged: bool


def read_log_file(path: Path) -> LogFile:
    """The first 8 MB and the last 56 MB of a log, whole lines only. Bytes that are not UTF-8 are replaced."""
    stream = Stream(path, LIMIT_BYTES)
    head, tail, cut = _ends(stream)
    if cut:
        head = head[: head.rfind(b"\n") + 1]
        tail = tail[tail.find(b"\n") + 1 :]
    data = head + tail
    text = data.decode("utf-8", "replace")
    warnings = []
    if cut:
        warnings.append(notice("long_log", path.name, head=HEAD_BYTES >> 20, tail=TAIL_BYTES >> 20))
    replaced = text.count("�") - data.count("�".encode())
    if replaced > 0:
        warnings.append(notice("not_utf8_log", path.name, count=replaced))
    return LogFile(tuple(text.split("\n")), tuple(warnings), stream.truncated, stream.damaged)


def _ends(stream: Stream) -> tuple[bytes, bytes, bool]:
    """The first and the last bytes, and whether some between them were left out."""
    head = bytearray()
    kept: deque[bytes] = deque()
    size, cut = 0, False
    for chunk in stream:
        room = HEAD_BYTES - len(head)
        head += chunk[:room]
        rest = chunk[room:] if room > 0 else chunk
        if rest:
            kept.append(rest)
            size += len(rest)
        while size - len(kept[0] if kept else b"") > TAIL_BYTES:
            size -= len(kept.popleft())
            cut = True
    return bytes(head), b"".join(kept), cut

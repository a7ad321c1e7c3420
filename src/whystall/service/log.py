"""What the daemon says of itself on the standard error: lines for people, or a JSON object a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import msgspec

from whystall.reports.printable import clean

LogFormat = Literal["text", "json"]
LEVELS = ("debug", "info", "warning", "error")


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Log:
    """Writes lines of ``least`` level and over. Values are what the caller gives: never a token or a header."""

    def __init__(
        self, form: LogFormat = "text", least: str = "info", write: Callable[[str], None] = _to_stderr
    ) -> None:
        self._form = form
        self._least = LEVELS.index(least)
        self._write = write

    def debug(self, text: str, **values: object) -> None:
        self._line("debug", text, values)

    def info(self, text: str, **values: object) -> None:
        self._line("info", text, values)

    def warning(self, text: str, **values: object) -> None:
        self._line("warning", text, values)

    def error(self, text: str, **values: object) -> None:
        self._line("error", text, values)

    def _line(self, level: str, text: str, values: dict[str, object]) -> None:
        if LEVELS.index(level) < self._least:
            return
        now = datetime.fromtimestamp(time.time(), UTC)
        if self._form == "json":
            body = {"time": now.isoformat(timespec="milliseconds"), "level": level, "event": text, **values}
            self._write(msgspec.json.encode(body, enc_hook=str).decode())
            return
        told = " ".join(f"{name}={_quoted(value)}" for name, value in values.items() if value not in ("", None))
        self._write(clean(f"{now:%F %T} UTC {level:7} {text} {told}".rstrip()))


def _quoted(value: object) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return f'"{text}"' if " " in text else text

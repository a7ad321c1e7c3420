"""JSON lines to rows of one type; what is no such line is counted, never fatal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from .stream import read_lines

Row = TypeVar("Row", bound=msgspec.Struct)
MAX_LINE_BYTES = 64 * 1024 * 1024  # an OTLP export holds hundreds of spans; other lines are short


class Rows(msgspec.Struct, Generic[Row]):
    """The rows of one file, how many lines were none, and whether the file was cut short."""

    rows: list[Row]
    bad_lines: int = 0
    truncated: bool = False
    damaged: bool = False


def read_rows(path: Path, kind: type[Row], limit_bytes: int) -> Rows[Row]:
    """Every line of the file that is a ``kind``. Fields it does not know are skipped."""
    lines, stream = read_lines(path, limit_bytes)
    decoder = msgspec.json.Decoder(kind, strict=False)
    found = [_row(line, decoder, kind) for line in lines]
    rows = [row for row in found if row is not None]
    return Rows(rows, len(found) - len(rows), stream.truncated, stream.damaged)


def _row(line: bytes, decoder: msgspec.json.Decoder[Row], kind: type[Row]) -> Row | None:
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _lenient(line, kind)


def _lenient(line: bytes, kind: type[Row]) -> Row | None:
    """Python writes NaN and Infinity, which are not JSON; they are read as not seen."""
    if b"NaN" not in line and b"Infinity" not in line:
        return None
    try:
        return msgspec.convert(json.loads(line, parse_constant=lambda _: None), kind, strict=False)
    except (ValueError, RecursionError, msgspec.ValidationError):
        return None

"""A TensorBoard log folder: the trace for its profiler plugin, and a curve per figure over the steps."""

from __future__ import annotations

import gzip
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from whystall.errors import UsageError

from .chrome_export import write_chrome
from .linked import LinkedTrace
from .phases import step_times
from .spans import RequestTime
from .summary import StepTime


def write_tensorboard(folder: Path, traces: Sequence[LinkedTrace], requests: Sequence[RequestTime] = ()) -> list[Path]:
    """Write into ``folder`` (made where it is missing); the files written. Raises :class:`UsageError` where it cannot."""
    now = time.time()
    events = folder / f"events.out.tfevents.{int(now)}.whystall"
    trace = folder / f"whystall.{time.time_ns()}.pt.trace.json.gz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with gzip.open(trace, "wt", encoding="utf-8") as out:
            write_chrome(out, traces, requests)
        events.write_bytes(b"".join(_records(traces, now)))
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}", "Choose another folder.") from error
    return [trace, events]


def _records(traces: Sequence[LinkedTrace], now: float) -> Iterator[bytes]:
    yield _record(_event(now, 0, version="brain.Event:2"))
    for linked in traces:
        label = f"rank {linked.trace.rank}/" if linked.trace.rank is not None and len(traces) > 1 else ""
        for step in step_times(linked):
            for tag, value in _scalars(step):
                yield _record(_event(now, step.index, tag=label + tag, value=value))


def _scalars(step: StepTime) -> Iterator[tuple[str, float]]:
    yield f"{step.phase}/gpu busy ms", step.busy_ns / 1e6
    yield f"{step.phase}/host ms", step.host_ns / 1e6
    if step.context_tokens is not None:
        yield "batch/context tokens", float(step.context_tokens)
    if step.generation_requests is not None:
        yield "batch/generation requests", float(step.generation_requests)
    for family, ns in step.families.items():
        yield f"class/{family} ms", ns / 1e6


def _event(wall: float, step: int, version: str = "", tag: str = "", value: float = 0.0) -> bytes:
    """TensorBoard's Event message: wall_time 1, step 2, file_version 3, summary 5 with values of tag 1, number 2."""
    body = b"\x09" + struct.pack("<d", wall) + b"\x10" + _varint(step)
    if version:
        return body + b"\x1a" + _bytes(version.encode())
    scalar = b"\x0a" + _bytes(tag.encode()) + b"\x15" + struct.pack("<f", value)
    return body + b"\x2a" + _bytes(b"\x0a" + _bytes(scalar))


def _bytes(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _record(content: bytes) -> bytes:
    """A TFRecord: length, its checksum, content, its checksum."""
    length = struct.pack("<Q", len(content))
    return length + _masked(length) + content + _masked(content)


def _masked(content: bytes) -> bytes:
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _table() -> list[int]:
    rows = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        rows.append(value)
    return rows


_CRC = _table()


def crc32c(content: bytes) -> int:
    """Castagnoli's CRC, which TFRecords use and the standard library lacks."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF

"""The bytes of a file that may be gzipped, cut short, or a bomb: read in blocks, never more than asked for."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import msgspec
from isal import isal_zlib

from whystall.errors import InputError, TooLarge

BLOCK_BYTES = 512 * 1024  # fits a core's L2 cache; 4 MB blocks were measured 15 to 25% slower
_COMPRESSED_BLOCK = 64 * 1024
_GZIP = b"\x1f\x8b"
_AUTO_GZIP = 31  # zlib's window bits for "gzip header expected"


class ReadLimits(msgspec.Struct, frozen=True):
    """What is read at most: ``max_bytes`` of text, and ``max_ratio`` of text to gzip once ``ratio_from`` bytes are out.

    Real traces compress 10 to 30 times, a gzip bomb up to 1,030 times.
    """

    max_bytes: int = 64 << 30
    max_ratio: float = 200.0
    ratio_from: int = 64 << 20
    block_bytes: int = BLOCK_BYTES


class ByteStream:
    """Blocks of a plain or gzipped file, ``b""`` at its end.

    ``truncated`` is true when a gzip member broke off or was damaged; ``members`` counts gzip members.
    Raises :class:`TooLarge` when a limit of ``limits`` is passed.
    """

    def __init__(self, path: Path, limits: ReadLimits | None = None) -> None:
        self.path = path
        self.limits = limits or ReadLimits()
        self.truncated = False
        self.members = 0
        self.bytes_out = 0
        self.bytes_in = 0
        self._file = _open(path)
        self._pending = self._file.read(_COMPRESSED_BLOCK)
        self.gzipped = self._pending.startswith(_GZIP)
        self._decoder: Any = isal_zlib.decompressobj(_AUTO_GZIP) if self.gzipped else None

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self) -> bytes:
        """The next block, ``b""`` only at the end."""
        size = self.limits.block_bytes
        block = self._inflate(size) if self.gzipped else self._plain(size)
        self.bytes_out += len(block)
        self._check()
        return block

    def _plain(self, size: int) -> bytes:
        if self._pending:
            block, self._pending = self._pending, b""
            block += self._file.read(max(size - len(block), 0))
        else:
            block = self._file.read(size)
        self.bytes_in += len(block)
        return block

    def _inflate(self, size: int) -> bytes:
        parts: list[bytes] = []
        room = size
        while room > 0 and self._decoder is not None:
            part = self._step(room)
            room -= len(part)
            parts.append(part)
        return b"".join(parts)

    def _step(self, room: int) -> bytes:
        """One call of the decoder. Sets the decoder to None when nothing more can come."""
        data = self._pending or self._file.read(_COMPRESSED_BLOCK)
        try:
            part: bytes = self._decoder.decompress(data, room)
        except isal_zlib.error:  # type: ignore[misc]  # the stub says instance
            return self._break_off()
        self._pending = self._decoder.unconsumed_tail
        self.bytes_in += len(data) - len(self._pending)
        if self._decoder.eof:
            self._next_member(self._decoder.unused_data)
        elif not part and not data:
            return self._break_off()
        return part

    def _break_off(self) -> bytes:
        self.truncated = True
        self._decoder = None
        return b""

    def _next_member(self, rest: bytes) -> None:
        self.members += 1
        self.bytes_in -= len(rest)
        self._pending = rest or self._file.read(_COMPRESSED_BLOCK)
        self._decoder = isal_zlib.decompressobj(_AUTO_GZIP) if self._pending.startswith(_GZIP) else None

    def _check(self) -> None:
        if self.bytes_out > self.limits.max_bytes:
            raise TooLarge(
                f"{self.path.name}: more than {self.limits.max_bytes:,} bytes of text",
                "Record fewer steps (max_iterations 20 to 50, with_stack off), or raise --max-bytes.",
            )
        if not self.gzipped or self.bytes_out < self.limits.ratio_from:
            return
        ratio = self.bytes_out / max(self.bytes_in, 1)
        if ratio > self.limits.max_ratio:
            raise TooLarge(
                f"{self.path.name}: {ratio:.0f} times larger than its gzip so far; no trace compresses like that",
                "This looks like a gzip bomb. Unpack it by hand if you trust where it is from.",
            )


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except IsADirectoryError as error:
        raise InputError(f"{path.name} is a folder, not a file", "Name the files in it.") from error
    except OSError as error:
        raise InputError(f"cannot read {path.name}: {error.strerror}", "Check the path and the permissions.") from error

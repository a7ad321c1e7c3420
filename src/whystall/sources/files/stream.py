"""The bytes of a file, plain or gzip, whole or cut short."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from isal import isal_zlib

from whystall.errors import InputError, TooLarge

CHUNK_BYTES = 4 * 1024 * 1024
_READ_BYTES = 8 * 1024  # small, since a damaged piece gives nothing at all, not even what comes before the damage
_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib's way to say "a gzip header"


class Stream:
    """Reads a file once, in pieces of about 4 MB. After the last piece ``truncated`` and ``damaged`` tell how it ended.

    gzip is told by its first bytes, not by its name. Several members follow one another; a member that ends early, as a
    killed recorder leaves it, gives what it holds.
    """

    def __init__(self, path: Path, limit_bytes: int) -> None:
        self.path = path
        self.truncated = False  # the gzip stream stops before its end
        self.damaged = False  # the gzip stream is broken; what came before was given
        self._limit_bytes = limit_bytes
        self._given = 0

    def __iter__(self) -> Iterator[bytes]:
        """Raises :class:`TooLarge` over the limit, :class:`InputError` where the file cannot be read."""
        try:
            with self.path.open("rb") as file:
                first = file.read(_READ_BYTES)
                pieces = iter(lambda: file.read(_READ_BYTES), b"")
                chunks = self._unpacked(first, pieces) if first[:2] == _GZIP else self._plain(first, pieces)
                for chunk in chunks:
                    self._given += len(chunk)
                    if self._given > self._limit_bytes:
                        raise TooLarge(
                            f"{self.path.name} holds more than the {self._limit_bytes / 1e6:,.0f} MB that are read",
                            "Cut it into shorter recordings.",
                        )
                    yield chunk
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror}", "Check the path and its mode.") from None

    def _plain(self, first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
        yield first
        yield from pieces

    def _unpacked(self, first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
        unpacker = isal_zlib.decompressobj(_GZIP_WINDOW)
        waiting = first
        while waiting:
            if unpacker.eof:
                if waiting[:2] != _GZIP[: len(waiting)]:
                    self.damaged = waiting.strip(b"\0") != b""  # tape blocks are padded with zeros
                    return
                unpacker = isal_zlib.decompressobj(_GZIP_WINDOW)
            try:
                chunk = unpacker.decompress(waiting, CHUNK_BYTES)
            except isal_zlib.error:  # type: ignore[misc]  # its stub says it is no class
                self.damaged = True
                return
            if chunk:
                yield chunk
            waiting = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            if not waiting and (not chunk or len(chunk) < CHUNK_BYTES):
                waiting = next(pieces, b"")
        self.truncated = not unpacker.eof


def read_all(path: Path, limit_bytes: int) -> tuple[bytes, Stream]:
    """The whole file, and the stream that tells whether it was cut."""
    stream = Stream(path, limit_bytes)
    return b"".join(stream), stream


def read_lines(path: Path, limit_bytes: int) -> tuple[list[bytes], Stream]:
    """The lines of a file without their ends; where it was cut the last, half one is left out."""
    data, stream = read_all(path, limit_bytes)
    lines = data.split(b"\n")
    last = lines.pop()
    if last and not (stream.truncated or stream.damaged):
        lines.append(last)
    return [line for line in lines if line.strip()], stream

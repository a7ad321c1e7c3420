"""The body of an answer, read within bounds: hostile servers send gzip bombs and endless pages."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

from whystall.errors import NotMetrics, TooLarge

LIMIT_BYTES = 64 * 1024 * 1024
_PROXY = "look for a proxy between that packs pages"


async def read_body(chunks: AsyncIterator[bytes], encoding: str, name: str, limit: int = LIMIT_BYTES) -> bytes:
    """The whole body, unpacked where ``encoding`` (Content-Encoding) says so.

    Raises TooLarge as soon as more than ``limit`` bytes came out, before they are all in memory, and NotMetrics where
    it is packed in a way that was not asked for or cannot be unpacked.
    """
    unpacker = _unpacker(encoding, name)
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        part = chunk if unpacker is None else _unpack(unpacker, chunk, limit + 1 - size, name)
        size += len(part)
        if size > limit:
            raise TooLarge(f"{name} sent more than {limit // 2**20} MB", "whystall reads metrics pages up to that size")
        parts.append(part)
    if unpacker is not None and (not unpacker.eof or unpacker.unused_data):
        raise NotMetrics(f"{name} sent gzip that is cut or has something behind it", _PROXY)
    return b"".join(parts)


def _unpacker(encoding: str, name: str) -> zlib._Decompress | None:
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32)  # tells gzip and zlib apart by their headers
    raise NotMetrics(
        f"{name} answered packed as {encoding[:20]!r}, which was not asked for", "look for a proxy between"
    )


def _unpack(unpacker: zlib._Decompress, chunk: bytes, room: int, name: str) -> bytes:
    try:
        return unpacker.decompress(chunk, room)
    except zlib.error as error:
        raise NotMetrics(f"{name} sent gzip that cannot be unpacked: {error}", _PROXY) from None

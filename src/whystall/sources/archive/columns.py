"""Columns of samples as bytes: each value against the one before, the bytes of equal weight side by side, then deflate.

Successive samples of a series mostly share sign, exponent and the upper mantissa, so their XOR is mostly zeros (Pelkonen et
al., "Gorilla", VLDB 2015, section 4.1.2); putting byte 7 of all values first makes those zeros runs. No bit is lost.
"""

from __future__ import annotations

import numpy as np
from isal import isal_zlib
from isal.igzip_lib import IsalError
from numpy.typing import NDArray

from whystall.errors import StoreDamaged
from whystall.model.recording import Floats

_LEVEL = 1  # level 2 takes twice the time for 4% less
Ids = NDArray[np.int64]


def pack(values: Floats) -> bytes:
    """``values`` (series, scrapes) as bytes."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    changed = bits.copy()
    changed[:, 1:] ^= bits[:, :-1]
    return isal_zlib.compress(_shuffled(changed), _LEVEL)


def unpack(data: bytes, series: int, scrapes: int) -> Floats:
    """The values of :func:`pack`. Raises :class:`~whystall.errors.StoreDamaged` where they are not of that shape."""
    flat = np.frombuffer(inflated(data, series * scrapes * 8), dtype=np.uint8).reshape(8, series * scrapes)
    changed = np.ascontiguousarray(flat.T).view(np.uint64).reshape(series, scrapes)
    return np.bitwise_xor.accumulate(changed, axis=1).view(np.float64)


def pack_ids(ids: Ids) -> bytes:
    """Whole numbers below 2³¹ as bytes."""
    steps = np.diff(ids, prepend=0).astype(np.int32)
    return isal_zlib.compress(steps.tobytes(), _LEVEL)


def unpack_ids(data: bytes, count: int) -> Ids:
    """The numbers of :func:`pack_ids`. Raises StoreDamaged."""
    return np.cumsum(np.frombuffer(inflated(data, count * 4), dtype=np.int32), dtype=np.int64)


def pack_times(times: Floats) -> bytes:
    """Unix seconds as bytes."""
    return pack(times[None, :])


def unpack_times(data: bytes, count: int) -> Floats:
    """The times of :func:`pack_times`. Raises StoreDamaged."""
    return np.asarray(unpack(data, 1, count)[0])


def _shuffled(values: NDArray[np.uint64]) -> bytes:
    return np.ascontiguousarray(values.reshape(-1).view(np.uint8).reshape(-1, 8).T).tobytes()


def inflated(data: bytes, size: int) -> bytes:
    """Exactly ``size`` bytes. Raises StoreDamaged."""
    try:
        body: bytes = isal_zlib.decompressobj().decompress(data, size + 1)
    except IsalError as error:  # type: ignore[misc]  # its stub calls it a function
        raise StoreDamaged(
            f"a chunk cannot be read: {error}", "Keep the file; move it away to start a new one."
        ) from error
    if len(body) != size:
        raise StoreDamaged(f"a chunk holds {len(body)} bytes where {size} should be", "Keep the file; move it away.")
    return body

import gzip
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.errors import NotMetrics, TooLarge
from whystall.sources.live.body import read_body


async def chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


@given(st.binary(max_size=2000), st.integers(1, 300), st.sampled_from(["", "identity", "gzip", "deflate"]))
async def test_what_was_sent_comes_out(data: bytes, size: int, encoding: str) -> None:
    packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(encoding, bytes)(data)
    assert await read_body(chunks(packed, size), encoding, "x") == data


@pytest.mark.parametrize("encoding", ["", "gzip"])
async def test_exactly_the_limit_is_allowed_and_one_more_is_not(encoding: str) -> None:
    for size in (1000, 1001):
        data = gzip.compress(bytes(size)) if encoding else bytes(size)
        if size == 1000:
            assert len(await read_body(chunks(data, 7), encoding, "x", limit=1000)) == 1000
        else:
            with pytest.raises(TooLarge):
                await read_body(chunks(data, 7), encoding, "x", limit=1000)


async def test_what_cannot_be_unpacked() -> None:
    for data in (b"no gzip", gzip.compress(b"x" * 100)[:-4], gzip.compress(b"x") + b"more"):
        with pytest.raises(NotMetrics):
            await read_body(chunks(data, 10), "gzip", "x")
    with pytest.raises(NotMetrics, match="br"):
        await read_body(chunks(b"x", 10), "br", "x")

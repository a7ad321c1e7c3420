"""Pieces that grow while answers are small, and shrink where a Prometheus finds them too much."""

import re

import pytest
from aiohttp import web

from servers import http_server
from whystall.errors import TooLarge
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session
from whystall.sources.prometheus.asking import Asking
from whystall.sources.prometheus.matrix import Samples

TOO_MUCH = '{"status":"error","errorType":"execution","error":"query processing would load too many samples"}'
NOTHING = '{"status":"success","data":{"resultType":"matrix","result":[]}}'


async def pieces(most_s: float, seconds: float) -> list[float]:
    asked: list[float] = []

    async def handler(request: web.Request) -> web.Response:
        found = re.search(r"\[(\d+)ms\]", request.query["query"])
        assert found
        piece = int(found[1]) / 1000
        if piece > most_s:
            return web.Response(status=422, text=TOO_MUCH, content_type="application/json")
        asked.append(piece)
        return web.Response(text=NOTHING, content_type="application/json")

    async with http_server(handler) as base, Session(Address.parse(base)) as session:
        await Asking(session).whole("{}", 0.0, seconds, Samples())
    return asked


async def test_small_answers_make_longer_pieces() -> None:
    assert await pieces(1e9, 3600.0) == [300.0, 600.0, 1200.0, 1500.0]


async def test_too_much_makes_shorter_ones() -> None:
    asked = await pieces(100.0, 600.0)
    assert sum(asked) == 600.0
    assert max(asked) <= 100.0


async def test_what_is_too_much_even_so_is_named() -> None:
    with pytest.raises(TooLarge, match="more samples than it answers with"):
        await pieces(1.0, 600.0)

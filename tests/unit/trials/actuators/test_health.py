"""Waiting for a server: it comes up, it never does, or it says at once that it will not."""

from __future__ import annotations

from aiohttp import web

from servers import http_server
from whystall.trials.actuators.health import until_up


async def test_waits_until_it_serves() -> None:
    left = [503, 503, 200]

    async def handler(request: web.Request) -> web.Response:
        assert request.path == "/health"
        return web.Response(status=left.pop(0))

    async with http_server(handler) as url:
        assert (await until_up(url, 30.0)).ok
    assert left == []


async def test_says_why_it_does_not() -> None:
    late = await until_up("http://127.0.0.1:9", 0.0)
    assert not late.ok
    assert "nothing answers" in late.reason
    dead = await until_up("http://127.0.0.1:9", 30.0, gone=lambda: "torch.OutOfMemoryError: CUDA out of memory")
    assert (dead.ok, dead.oom) == (False, True)

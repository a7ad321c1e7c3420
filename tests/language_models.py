"""A stand-in for a language model's endpoint: a real server on loopback that answers what a test tells it to."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

Reply = Callable[[dict[str, Any]], web.Response]


def saying(text: str) -> Reply:
    """A completion with this text."""
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return lambda _: web.json_response(body)


class Endpoint:
    """Where it listens, and what it was sent: bodies and headers of each question."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []


@contextmanager
def language_model(reply: Reply) -> Iterator[Endpoint]:
    """Serve ``reply`` in a thread of its own: the command line that asks runs a loop itself."""
    endpoint = Endpoint()
    started, loop = threading.Event(), asyncio.new_event_loop()

    async def answer(request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        endpoint.asked.append(body)
        endpoint.headers.append(dict(request.headers))
        return reply(body)

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "tiny-model"}]})

    async def serve() -> web.AppRunner:
        app = web.Application()
        app.add_routes([web.post("/v1/chat/completions", answer), web.get("/v1/models", models)])
        runner = web.AppRunner(app, shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        endpoint.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        started.set()
        return runner

    def run() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait()
    try:
        yield endpoint
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

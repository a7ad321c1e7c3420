"""What is read from a stream: pieces, usage, errors; against a server that says what the test wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from whystall.emulator.engine.workload import Arrival
from whystall.trials.load.exchange import Exchange
from whystall.trials.load.sender import LoadTarget, Sender
from whystall.trials.load.trace import Trace

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ONE = Trace(seconds=0.05, arrivals=(Arrival(0.0, 12, 5),))


@asynccontextmanager
async def server(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_post("/v1/completions", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield "http://{}:{}".format(*runner.addresses[0])
    finally:
        await runner.cleanup()


def saying(*lines: bytes, status: int = 200) -> Handler:
    async def handler(_request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"".join(line + b"\n\n" for line in lines), status=status)

    return handler


async def sent(handler: Handler, trace: Trace = ONE, drain_s: float | None = 5.0) -> list[Exchange]:
    seen: list[Exchange] = []
    async with server(handler) as url, Sender(LoadTarget(url, "m")) as sender:
        await sender.play(trace, seen.append)
        await sender.drain(drain_s)
    return seen


PIECE = b'data: {"choices": [{"text": " a"}]}'


async def test_usage_gives_the_tokens_and_is_no_piece() -> None:
    usage = b'data: {"choices": [], "usage": {"completion_tokens": 3}}'
    (seen,) = await sent(saying(PIECE, PIECE, usage, b"data: [DONE]"))
    assert (seen.output_tokens, len(seen.chunks), seen.error) == (3, 2, None)


async def test_without_usage_the_asked_length_is_taken() -> None:
    (seen,) = await sent(saying(PIECE, PIECE, b"data: [DONE]"))
    assert (seen.output_tokens, len(seen.chunks)) == (5, 2)


async def test_nonsense_at_the_end_of_a_stream_does_no_harm() -> None:
    (seen,) = await sent(saying(PIECE, b'data: {"choices": 7, "usage": "much"}'))
    assert seen.error is None
    assert len(seen.chunks) == 2


async def test_errors_are_named() -> None:
    (refused,) = await sent(saying(b"busy", status=503))
    assert (refused.error, refused.output_tokens) == ("http 503", 0)
    (inside,) = await sent(saying(PIECE, b'data: {"error": {"message": "dead"}}'))
    assert inside.error == "error in the stream"
    assert inside.output_tokens == 1
    (endless,) = await sent(saying(b"x" * 3 * 2**20))
    assert endless.error == "LineTooLong"  # a line longer than any that a server sends


async def test_what_is_not_answered_in_time_is_cut_and_told_once() -> None:
    async def never(_request: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    (seen,) = await sent(never, drain_s=0.05)
    assert seen.cut
    assert seen.error is None


async def test_the_body_asks_for_what_the_trace_says() -> None:
    bodies = []

    async def note(request: web.Request) -> web.StreamResponse:
        bodies.append(await request.json())
        return web.Response(body=b"data: [DONE]\n\n")

    trace = Trace(seconds=0.05, arrivals=(Arrival(0.0, 12, 5, priority=3), Arrival(0.01, 8, 2)))
    await sent(note, trace)
    first, second = sorted(bodies, key=lambda body: -body["max_tokens"])
    assert (len(first["prompt"]), first["max_tokens"], first["priority"]) == (12, 5, 3)
    assert (len(second["prompt"]), "priority" in second) == (8, False)
    assert first["stream"] is True
    assert first["ignore_eos"] is True


async def test_a_closed_loop_has_as_many_under_way_as_clients() -> None:
    under_way, most = 0, 0

    async def slow(_request: web.Request) -> web.StreamResponse:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.005)
        under_way -= 1
        return web.Response(body=PIECE + b"\n\n")

    trace = Trace(seconds=0.2, arrivals=(Arrival(0.0, 8, 1),), clients=3)
    seen = await sent(slow, trace)
    assert most == 3
    assert len(seen) > 6


async def test_a_connection_that_the_server_hung_up_on_meanwhile_is_no_failure() -> None:
    """One byte of the second request on the first connection, and the server closes it without an answer."""
    connections: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(0)
        while await reader.read(65536):
            connections[-1] += 1
            if len(connections) == 1 and connections[0] == 2:
                break
            body = PIECE + b"\n\ndata: [DONE]\n\n"
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = "http://{}:{}".format(*listening.sockets[0].getsockname()[:2])
    seen: list[Exchange] = []
    two = Trace(seconds=0.4, arrivals=(Arrival(0.0, 12, 5), Arrival(0.3, 12, 5)))
    async with listening, Sender(LoadTarget(url, "m")) as sender:
        await sender.play(two, seen.append)
        await sender.drain(5.0)
    assert [one.error for one in seen] == [None, None]
    assert connections == [2, 1]


async def test_a_server_that_answers_nothing_at_all_has_failed() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = "http://{}:{}".format(*listening.sockets[0].getsockname()[:2])
    seen: list[Exchange] = []
    async with listening, Sender(LoadTarget(url, "m")) as sender:
        await sender.play(ONE, seen.append)
        await sender.drain(5.0)
    assert [one.error for one in seen] == ["ServerDisconnectedError"]

import asyncio

import pytest
from aiohttp import web

from servers import counter_page, http_server, pages
from whystall.errors import AccessDenied, NotMetrics, Unreachable, UsageError
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Answer, Session, require_metrics


async def test_the_page_comes_unpacked_from_the_server() -> None:
    """Packing it would cost the server more CPU than rendering it."""
    seen: dict[str, str] = {}

    async def handler(request: web.Request) -> web.Response:
        seen.update(request.headers)
        response = web.Response(text=counter_page(1))
        response.enable_compression()
        return response

    async with http_server(handler) as url, Session(Address.parse(url)) as session:
        answer = await session.metrics()
    assert seen["Accept-Encoding"] == "identity"
    assert "content-encoding" not in answer.headers
    assert answer.body.decode() == counter_page(1)


async def test_any_status_of_another_endpoint_is_an_answer() -> None:
    async with http_server(pages(counter_page(1))) as url, Session(Address.parse(url)) as session:
        assert (await session.get("/version")).status == 404


def test_a_header_that_cannot_be_sent_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(UsageError):
        Session(Address.parse("h:1"), Access(token="a\nb"))


def test_a_denied_page_says_what_to_give() -> None:
    with pytest.raises(AccessDenied) as caught:
        require_metrics(Answer(401, {}, b"", 0.0), Address.parse("h:1/metrics?key=hush"))
    assert "--token-file" in caught.value.hint
    assert "hush" not in caught.value.message


async def test_one_connection_serves_all_scrapes() -> None:
    peers: set[object] = set()

    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(text=counter_page(1))

    async with http_server(handler) as url, Session(Address.parse(url)) as session:
        for _ in range(5):
            await session.metrics()
            await asyncio.sleep(0)
    assert len(peers) == 1


@pytest.mark.parametrize("host", ["a..b", "x" * 300, "[::1%25lo]"])
async def test_a_host_that_cannot_be_is_named(host: str) -> None:
    async with Session(Address.parse(f"http://{host}:1")) as session:
        with pytest.raises((UsageError, Unreachable)):
            await session.get("/metrics")


@pytest.mark.parametrize(
    ("given", "says", "hint"),
    [
        ("incidnet-7", "is not known", "no file, no folder and no target of whystall.toml"),
        ("http://vllm.invalid:8000", "is not known", "check the spelling and the DNS of this host"),
        ("127.0.0.1:1", "Connection refused", "its port, and"),
        ("127.0.0.2", "Connection refused", "vLLM's own is 8000"),
    ],
)
async def test_where_nobody_is_the_hint_fits_what_was_typed(given: str, says: str, hint: str) -> None:
    async with Session(Address.parse(given)) as session:
        with pytest.raises(Unreachable, match=says) as caught:
            await session.get("/metrics")
    assert hint in caught.value.hint
    assert ("whystall.toml" in caught.value.hint) == (given == "incidnet-7")


async def test_a_server_that_hangs_up_may_want_https() -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server, Session(Address.parse(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")) as session:
        with pytest.raises(Unreachable, match="broke off") as caught:
            await session.get("/metrics")
    assert "https://" in caught.value.hint


async def test_a_redirect_to_what_is_no_address() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://[::1"})

    async with http_server(handler) as url, Session(Address.parse(url)) as session:
        with pytest.raises(NotMetrics):
            await session.get("/metrics")

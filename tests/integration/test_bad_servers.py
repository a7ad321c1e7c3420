"""The tables "Servers" of docs/bad-input.md, row by row: what is refused, and what is handled and named."""

import asyncio
import contextlib
import re
import zlib
from pathlib import Path

import pytest
from aiohttp import web

from servers import certificate, counter_page, http_server, pages, raw_server, server_tls
from whystall import pipeline
from whystall.errors import WhystallError
from whystall.model.diagnosis import Diagnosis
from whystall.sources.live.access import Access
from whystall.sources.live.collector import CollectSpec, collect
from whystall.sources.playback import Playback

DOCS = Path(__file__).resolve().parents[2] / "docs" / "bad-input.md"


def rows(head: str) -> dict[str, list[str]]:
    """The cells of a table of the docs, by its first column."""
    text = DOCS.read_text(encoding="utf-8").partition("## Servers")[2].partition(head)[2]
    lines = re.match(r"(?:[^|]*\n)*?((?:\|.*\n)+)", text)
    assert lines is not None
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1].splitlines()[2:]]
    return {row[0]: row[1:] for row in cells}


def answer(body: str | bytes = "", status: int = 200, **headers: str):
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=body.encode() if isinstance(body, str) else body, status=status, headers=headers)

    return http_server(handler)


def bomb() -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1_000_000)) for _ in range(100)) + packer.flush()


async def never(request: web.Request) -> web.Response:
    await asyncio.sleep(30)
    return web.Response()


async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx 1\n")
    await writer.drain()


@contextlib.asynccontextmanager
async def address(text: str):
    yield text


@contextlib.asynccontextmanager
async def https_for_http():
    async with http_server(pages(counter_page(1))) as url:
        yield url.replace("http:", "https:")


def in_turn():
    return pages(*(counter_page(1e6 * (n % 2) + n, start=1e9 + n % 2) for n in range(40)))


def refused(tmp_path: Path, port: int):
    return {
        "nothing listens there": lambda: address(f"http://127.0.0.1:{port}"),
        "a host name that is not known": lambda: address("http://no-such-host.invalid:1"),
        "no whole answer within `--timeout`": lambda: http_server(never),
        "half an answer, or something that is not HTTP": lambda: raw_server(half),
        "a certificate of an unknown authority": lambda: http_server(
            pages(counter_page(1)), server_tls(*certificate(tmp_path))
        ),
        "https to a server that speaks http": https_for_http,
        "401 or 403": lambda: answer(status=401),
        "503, as from a server that is starting": lambda: answer(status=503),
        "a replay that has come to its end": lambda: answer(status=410, **{"X-Whystall-Clock": "1"}),
        "404": lambda: answer(status=404),
        "an HTML page": lambda: answer("<!DOCTYPE html><html></html>"),
        "an empty page": lambda: answer(""),
        "a page of another program": lambda: answer("node_cpu_seconds_total 1\n"),
        "a redirect to another host, which is not followed": lambda: answer(status=302, Location="http://example.com/"),
        "a page over 64 MB": lambda: answer(b"x 1\n" * 17_000_000),
        "a gzip bomb": lambda: answer(bomb(), **{"Content-Encoding": "gzip"}),
        "pages of several servers in turn, behind a load balancer": lambda: http_server(in_turn()),
    }


REFUSED = rows("Refused:")
HANDLED = rows("The first scrape decides.")


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_refused(case: str, tmp_path: Path, free_port) -> None:
    exit_code, error = REFUSED[case]
    served = refused(tmp_path, free_port())[case]
    timeout = 0.3 if "--timeout" in case else 30
    async with served() as url:
        spec = CollectSpec(url, seconds=0.3, interval_s=0.05, access=Access(timeout_s=timeout))
        with pytest.raises(WhystallError) as caught:
            pipeline.diagnose(await collect(spec))
    assert f"`{type(caught.value).__name__}`" == error
    assert caught.value.exit_code == int(exit_code)
    assert caught.value.hint


def test_every_refusal_is_in_the_table(tmp_path: Path) -> None:
    assert list(refused(tmp_path, 1)) == list(REFUSED)


def real_pages(data: Path) -> list[str]:
    """The pages of a small real recording, so that there is an engine to diagnose."""
    playback = Playback(data / "recordings" / "healthy")
    found = [playback.page.page.decode()]
    while playback.advance():
        found.append(playback.page.page.decode())
    return found


def handled(case: str, served: list[str]):
    """A handler that does what the case says."""
    count = 0
    began_again = [*served[5:15], *served[:15]]

    async def handler(request: web.Request) -> web.Response:
        nonlocal count
        if request.path != "/metrics":
            await asyncio.sleep(0.3 * ("hangs" in case))
            raise web.HTTPNotFound
        count += 1
        if "goes away" in case and count > 5:
            assert request.transport is not None
            request.transport.abort()
        if "slow" in case and count == 4:
            await asyncio.sleep(0.4)
        page = (began_again if "restarts" in case else served)[min(count, 20)]
        if "twice" in case:
            page += 'vllm:num_requests_running{engine="0",model_name="m"} 1\n' * 2
        if "hostile" in case:
            page = page.replace('model_name="m"', 'model_name="<script>{x}\\n# scrape 1 \\""')
        return web.Response(text=page)

    return handler


async def diagnosed(case: str, served: list[str], seconds: float) -> Diagnosis:
    async with http_server(handled(case, served)) as url:
        spec = CollectSpec(url, seconds=seconds, interval_s=0.1)
        return pipeline.diagnose(await collect(spec)).diagnosis


@pytest.mark.parametrize("case", HANDLED)
async def test_what_is_handled(case: str, data: Path) -> None:
    _, verdict, warning = HANDLED[case]
    found = await diagnosed(case, real_pages(data), 0.05 if "one scrape" in case else 1.5)
    if verdict.startswith("`"):
        assert f"`{found.verdict}`" == verdict
    if warning:
        assert warning.strip("`") in [notice.id for notice in found.warnings]

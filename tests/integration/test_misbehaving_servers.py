"""Servers that do what servers do to those who scrape them."""

import asyncio
import gzip
import time
import zlib

import pytest
from aiohttp import web

from servers import certificate, counter_page, http_server, pages, raw_server, server_tls
from whystall.errors import (
    AccessDenied,
    MixedServers,
    NotMetrics,
    TimedOut,
    TlsFailed,
    TooLarge,
    Unavailable,
    Unreachable,
    UsageError,
    WhystallError,
)
from whystall.sources.live.access import Access
from whystall.sources.live.clock import CLOCK_HEADER
from whystall.sources.live.collector import CollectSpec, collect
from whystall.sources.live.scraper import SKIPPED

FAST = {"seconds": 0.3, "interval_s": 0.05}


async def meets(kind: type[WhystallError], url: str, **spec: object) -> WhystallError:
    with pytest.raises(kind) as caught:
        await collect(CollectSpec(url, **(FAST | spec)))
    assert type(caught.value) is kind
    assert caught.value.hint
    return caught.value


def plain(text: str | bytes, status: int = 200, **headers: str):
    body = text.encode() if isinstance(text, str) else text

    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=body, status=status, headers=headers)

    return handler


@pytest.mark.parametrize(
    "page", ["<!DOCTYPE html><html>hello</html>", "", " \n\n", '{"detail": "no"}', "# HELP only\n"]
)
async def test_a_page_that_is_none(page: str) -> None:
    async with http_server(plain(page)) as url:
        await meets(NotMetrics, url)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, AccessDenied), (403, AccessDenied), (404, NotMetrics), (503, Unavailable), (204, NotMetrics)],
)
async def test_a_status_that_is_no_page(status: int, kind: type[WhystallError]) -> None:
    async with http_server(plain("x 1\n", status)) as url:
        error = await meets(kind, url)
        assert str(status) in error.message


async def test_nothing_listens(free_port) -> None:
    error = await meets(Unreachable, f"http://127.0.0.1:{free_port()}")
    assert error.exit_code == 3


async def test_a_name_that_is_unknown() -> None:
    await meets(Unreachable, "http://no-such-host.invalid:8000")


async def test_a_page_over_the_limit_is_refused_while_it_comes() -> None:
    sent = 0

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        line = b'x{a="b"} 1\n' * 100_000
        while True:
            writer.write(line)
            sent += len(line)
            await writer.drain()

    async with raw_server(endless) as url:
        await meets(TooLarge, url, access=Access(timeout_s=60))
    assert sent < 100e6


async def test_a_large_page_within_the_limit_is_read() -> None:
    lines = (
        f'vllm:x_bucket{{model_name="model with a long name",le="{n}",pod="{n:060d}"}} {n}' for n in range(200_000)
    )
    async with http_server(plain("\n".join(lines) + "\n")) as url:
        found = await collect(CollectSpec(url, seconds=0.01, interval_s=1, access=Access(timeout_s=60)))
    assert found.metrics.values.shape == (200_000, 1)


async def test_a_gzip_bomb_is_not_unpacked() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(1_000_000)) for _ in range(300)) + packer.flush()
    async with http_server(plain(bomb, **{"Content-Encoding": "gzip"})) as url:
        error = await meets(TooLarge, url, access=Access(timeout_s=60))
        assert "64 MB" in error.message


async def test_gzip_that_was_not_asked_for_is_read() -> None:
    async with http_server(plain(gzip.compress(counter_page(5).encode()), **{"Content-Encoding": "gzip"})) as url:
        found = await collect(CollectSpec(url, **FAST))
    assert found.metrics.values.max() == 10


async def test_gzip_that_is_cut() -> None:
    cut = gzip.compress(counter_page(5).encode())[:-20]
    async with http_server(plain(cut, **{"Content-Encoding": "gzip"})) as url:
        await meets(NotMetrics, url)


@pytest.mark.parametrize("encoding", ["br", "gzip"])
async def test_a_body_that_cannot_be_unpacked(encoding: str) -> None:
    async with http_server(plain("x 1\n", **{"Content-Encoding": encoding})) as url:
        await meets(NotMetrics, url)


async def test_an_answer_that_is_too_slow() -> None:
    async def slow(request: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    async with http_server(slow) as url:
        error = await meets(TimedOut, url, access=Access(timeout_s=0.2))
        assert "0.2 s" in error.message


async def test_half_a_body() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nx 1\n")
        await writer.drain()

    async with raw_server(half) as url:
        await meets(Unreachable, url)


async def test_something_that_is_not_http() -> None:
    async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()

    async with raw_server(rude) as url:
        await meets(Unreachable, url)


async def test_an_unknown_certificate_authority(tmp_path) -> None:
    cert, key = certificate(tmp_path)
    async with http_server(pages(counter_page(1)), server_tls(cert, key)) as url:
        error = await meets(TlsFailed, url)
        assert "--ca" in error.hint
        found = await collect(CollectSpec(url, **FAST, access=Access(ca=cert)))
        assert len(found.metrics.times) > 1


async def test_a_server_that_wants_a_client_certificate(tmp_path) -> None:
    cert, key = certificate(tmp_path)
    (tmp_path / "client").mkdir()
    client, client_key = certificate(tmp_path / "client")
    async with http_server(pages(counter_page(1)), server_tls(cert, key, client)) as url:
        with pytest.raises((TlsFailed, Unreachable)):  # TLS 1.3 refuses only after the handshake
            await collect(CollectSpec(url, **FAST, access=Access(ca=cert)))
        access = Access(ca=cert, certificate=client, key=client_key)
        assert len((await collect(CollectSpec(url, **FAST, access=access))).metrics.times) > 1


async def test_https_to_a_plain_server() -> None:
    async with http_server(pages(counter_page(1))) as url:
        error = await meets(TlsFailed, url.replace("http:", "https:"))
        assert "http://" in error.hint


async def test_a_certificate_that_cannot_be_loaded(tmp_path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    await meets(UsageError, "https://127.0.0.1:1", access=Access(ca=tmp_path / "ca.pem"))


async def test_a_redirect_to_another_host_is_not_followed() -> None:
    async with http_server(plain("", 302, Location="http://example.com/login?next=1")) as url:
        error = await meets(NotMetrics, url, access=Access(token="s3cr3t"))
        assert "example.com" in error.message


async def test_a_redirect_on_the_same_server_is_followed() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/metrics":
            raise web.HTTPFound("/metrics/")
        return web.Response(text=counter_page(1))

    async with http_server(handler) as url:
        assert len((await collect(CollectSpec(url, **FAST))).metrics.times) > 1


async def test_a_redirect_in_a_circle() -> None:
    async with http_server(plain("", 301, Location="/metrics")) as url:
        await meets(NotMetrics, url)


async def test_secrets_are_sent_and_never_told() -> None:
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(status=401)

    async with http_server(handler) as url:
        with_password = url.replace("http://", "http://alice:pa55word@")
        error = await meets(AccessDenied, with_password)
        assert "pa55word" not in error.message + error.hint
        error = await meets(AccessDenied, url, access=Access(token="t0ken", headers=(("X-Key", "hush"),)))
        assert not any(word in error.message + error.hint for word in ("t0ken", "hush"))
    assert seen[0].startswith("Basic ")
    assert "Bearer t0ken" in seen


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch, free_port) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    async with http_server(pages(counter_page(1))) as url:
        await collect(CollectSpec(url, **FAST))


async def test_a_server_that_goes_away_and_comes_back() -> None:
    times = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal times
        times += request.path == "/metrics"
        if request.path == "/metrics" and times in (3, 4):
            assert request.transport is not None
            request.transport.abort()
        if times == 5:
            raise web.HTTPServiceUnavailable
        return web.Response(text=counter_page(times))

    async with http_server(handler) as url:
        found = await collect(CollectSpec(url, seconds=1.5, interval_s=0.05))
    errors = [failed.error for failed in found.metrics.failed]
    assert "Unreachable" in errors
    assert "Unavailable" in errors
    assert len(found.metrics.times) >= 3


async def test_a_server_that_stays_away() -> None:
    times = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal times
        times += request.path == "/metrics"
        if times > 3:  # the first is the look before the window
            assert request.transport is not None
            request.transport.abort()
        return web.Response(text=counter_page(times))

    async with http_server(handler) as url:
        found = await collect(CollectSpec(url, seconds=1.5, interval_s=0.1))
    assert len(found.metrics.times) >= 2
    assert {failed.error for failed in found.metrics.failed} == {"Unreachable"}
    assert found.health[-1].status == 0


async def test_a_restart_is_not_several_servers() -> None:
    served = [counter_page(1000 * n, start=1e9) for n in (1, 2, 3)] + [
        counter_page(n, start=1e9 + 500) for n in (1, 2, 3)
    ]
    async with http_server(pages(*served)) as url:
        found = await collect(CollectSpec(url, seconds=1.5, interval_s=0.05))
    assert len(found.metrics.times) >= 6


@pytest.mark.parametrize("start", [1e9, None])
async def test_two_servers_in_turn_behind_one_address(start: float | None) -> None:
    bodies = []
    for n in range(20):
        bodies.append(counter_page(1000 + n, start=start))
        bodies.append(counter_page(50_000 + n, start=start + 77 if start else None))
    async with http_server(pages(*bodies)) as url:
        error = await meets(MixedServers, url)
        assert "own address" in error.hint
        found = await collect(CollectSpec(url, **FAST, allow_mixed=True))
        assert len(found.metrics.times) > 2


async def test_a_slow_scrape_skips_slots_and_the_grid_stays() -> None:
    count = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal count
        count += request.path == "/metrics"
        if count == 3:
            await asyncio.sleep(0.35)
            count += 1
        return web.Response(text=counter_page(count))

    async with http_server(handler) as url:
        found = await collect(CollectSpec(url, seconds=1.0, interval_s=0.1))
    skipped = [failed for failed in found.metrics.failed if failed.error == SKIPPED]
    assert len(skipped) >= 2
    start = found.metrics.times[0]
    assert all(abs((failed.t - start) / 0.1 - round((failed.t - start) / 0.1)) < 0.02 for failed in skipped)
    assert found.metrics.times[-1] <= start + 1.0 + 0.1
    everything = sorted([*found.metrics.times, *(failed.t for failed in found.metrics.failed)])
    assert len(set(everything)) == len(everything)


async def test_hostile_labels_are_only_text() -> None:
    label = '<script>alert(1)</script>\\n# scrape 1\\" } 5 {{7*7}}'
    async with http_server(pages(counter_page(1, label=label))) as url:
        found = await collect(CollectSpec(url, **FAST))
    assert found.metrics.keys[0].label("model_name") == '<script>alert(1)</script>\n# scrape 1" } 5 {{7*7}}'


async def test_a_frozen_engine_has_its_health_asked() -> None:
    clock = time.time()

    async def handler(request: web.Request) -> web.Response:
        nonlocal clock
        if request.path == "/health":
            return web.Response(status=200)
        if request.path != "/metrics":
            raise web.HTTPNotFound
        clock += 1
        return web.Response(text=counter_page(7), headers={CLOCK_HEADER: f"{clock:.3f}", "X-Whystall-Speed": "step"})

    async with http_server(handler) as url:
        found = await collect(CollectSpec(url, seconds=35, interval_s=1))
    assert len(found.health) == 5  # at the start and the end, and every 10 s between
    assert {health.status for health in found.health} == {200}

"""The loops beside the scraping, on real files and a real exporter."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from servers import http_server
from whystall.model.text import Text
from whystall.service import witnessing
from whystall.service.log import Log
from whystall.service.target import WatchTarget
from whystall.service.witness import Witness
from whystall.service.witnessing import Witnessing
from whystall.sources.live.clock import Clock

NOW = time.strftime("%m-%d %H:%M:%S", time.gmtime())
XID = f"{time.strftime('%Y-%m-%dT%H:%M:%S')}+00:00 host kernel: NVRM: Xid (PCI:0000:18:00): 79, off the bus\n"


@asynccontextmanager
async def reading(monkeypatch, **beside) -> AsyncIterator[Witness]:
    monkeypatch.setattr(witnessing, "AGAIN_S", 0.02)
    monkeypatch.setattr(witnessing, "EXPORTER_S", 0.05)
    witness, asked = Witness(), asyncio.Event()
    asked.set()
    target = WatchTarget("a", "http://127.0.0.1:1", **({"beside": False} | beside))
    task = asyncio.create_task(Witnessing(target, witness, Clock(), 0.05, Log(write=lambda _: None), asked).run())
    try:
        yield witness
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(done: Callable[[], bool]) -> None:
    while not done():
        await asyncio.sleep(0.01)


async def test_a_log_is_followed_through_its_rotation(tmp_path, monkeypatch):
    path = tmp_path / "server.log"
    async with reading(monkeypatch, log=path) as witness:
        await until(lambda: "cannot be read" in str(witness.away.get(str(path), "")) or bool(witness.away))
        path.write_text(f"INFO {NOW} [a.py:1] one\n")
        await until(lambda: [line.text for line in witness.log.since(0)] == ["one"])
        assert witness.away == {}
        path.rename(tmp_path / "server.log.1")
        path.write_text(f"ERROR {NOW} [a.py:1] two\n")
        await until(lambda: [line.text for line in witness.log.since(0)] == ["one", "two"])
        assert witness.loud
    assert all(line.t is not None and abs(line.t - time.time()) < 600 for line in witness.log.since(0))


async def test_the_kernels_log_is_followed(tmp_path, monkeypatch):
    path = tmp_path / "kern.log"
    path.write_text(XID + "2026-11-30T08:00:00+00:00 host kernel: usb 1-1: new device\n")
    async with reading(monkeypatch, kernel_log=path) as witness:
        await until(lambda: len(witness.kernel) == 1)
        with path.open("a") as file:
            file.write(XID.replace("79", "13"))
        await until(lambda: len(witness.kernel) == 2)
    assert ": 13, off the bus" in witness.kernel[-1].text


async def test_a_device_of_the_kernel_without_records_is_read_and_waits(tmp_path, monkeypatch):
    from pathlib import Path

    async with reading(monkeypatch, kernel_log=Path("/dev/null")) as witness:
        witness.away["/dev/null"] = Text("not yet")
        await until(lambda: "/dev/null" not in witness.away)
    assert not witness.kernel


async def test_an_exporter_is_scraped_and_named_while_it_is_away(monkeypatch):
    up = False

    async def answer(_request: web.Request) -> web.Response:
        body = 'DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="g"} 300\n' if up else ""
        return web.Response(text=body, status=200 if up else 503)

    async with http_server(answer) as url, reading(monkeypatch, exporters=(url,)) as witness:
        await until(lambda: "503" in str(witness.away.get(url, "")))
        up = True
        await until(lambda: url not in witness.away and bool(witness.exporters[url].pages))


async def test_another_programs_page_is_no_exporter(monkeypatch):
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="up 1\n")

    async with http_server(answer) as url, reading(monkeypatch, exporters=(url,)) as witness:
        await until(lambda: "neither DCGM's nor node_exporter's" in str(witness.away.get(url, "")))


async def test_spans_are_received(monkeypatch, free_port):
    listen = f"127.0.0.1:{free_port()}"
    span = {
        "name": "llm_request",
        "startTimeUnixNano": str(int(time.time() * 1e9)),
        "endTimeUnixNano": str(int((time.time() + 1) * 1e9)),
        "attributes": [{"key": "gen_ai.request.id", "value": {"stringValue": "r"}}],
    }
    export = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    async with reading(monkeypatch, otlp_listen=listen) as witness, aiohttp.ClientSession() as session:
        while True:
            try:
                answer = await session.post(f"http://{listen}/v1/traces", json=export)
                break
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0.01)
        assert answer.status == 200
        await until(lambda: len(witness.spans) == 1)

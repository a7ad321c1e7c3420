"""What goes wrong around the daemon: slow and huge servers, signals, a kill -9, a full disk."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from emulated import emulator
from servers import counter_page, http_server
from whystall.model.incident import Happening
from whystall.service.daemon import Plan, watch
from whystall.service.log import Log
from whystall.service.server import Watching
from whystall.service.target import WatchTarget
from whystall.sources.archive.store import Archive
from whystall.sources.live.access import Access

FAST = Watching(interval_s=0.1, tick_s=0.2)


@asynccontextmanager
async def daemon(plan: Plan) -> AsyncIterator[tuple[asyncio.Queue[Happening], asyncio.Queue[str]]]:
    happened: asyncio.Queue[Happening] = asyncio.Queue()
    address: asyncio.Queue[str] = asyncio.Queue()
    task = asyncio.create_task(watch(plan, Log(write=lambda _: None), [happened.put_nowait], address.put_nowait))
    try:
        yield happened, address
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_server_that_answers_late_is_named_and_holds_nobody_up() -> None:
    served = 0

    async def slow(_request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async def quick(request: web.Request) -> web.Response:
        nonlocal served
        served += request.path == "/metrics"
        return web.Response(text=counter_page(served * 10.0))

    async with http_server(slow) as late, http_server(quick) as fine:
        targets = (WatchTarget("late", late, Access(timeout_s=0.3)), WatchTarget("fine", fine))
        async with daemon(Plan(targets, FAST, host="", workers=0)) as (happened, _):
            found = await happened.get()
    assert found.incident.engine_id == "late"
    assert "TimedOut" in found.incident.headline.en
    assert served > 3


async def test_a_page_of_ten_thousand_series_is_read_like_any_other(tmp_path: Path) -> None:
    many = "".join(f'vllm:some_bucket{{engine="0",le="{n}"}} {n}\n' for n in range(10_000))
    pages = 0

    async def huge(request: web.Request) -> web.Response:
        nonlocal pages
        pages += request.path == "/metrics"
        return web.Response(text=counter_page(pages * 10.0) + many)

    async with http_server(huge) as url:
        plan = Plan((WatchTarget("huge", url),), FAST, port=0, workers=0, store=tmp_path / "w.sqlite")
        async with daemon(plan) as (_, address), aiohttp.ClientSession(await address.get()) as session:
            while pages < 12:
                await asyncio.sleep(0.05)
            (engine,) = json.loads(await (await session.get("/api/fleet")).text())["engines"]
    assert (engine["condition"], engine["error"]) in (("ok", ""), ("starting", ""))
    with Archive.read(tmp_path / "w.sqlite") as archive:
        assert len(archive.table("huge", 0, 1e12).keys) > 10_000


async def started(folder: Path, *more: str, most_bytes: int | None = None) -> asyncio.subprocess.Process:
    """The command; with ``most_bytes`` no file of it can grow beyond, as on a disk that is full."""
    command = [sys.executable, "-m", "whystall", "watch", "--config", str(folder / "whystall.toml"), "--json", *more]
    environ = {**os.environ, "XDG_STATE_HOME": str(folder)}
    bounded = most_bytes and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)))
    return await asyncio.create_subprocess_exec(*command, env=environ, stdout=-1, stderr=-1, preexec_fn=bounded)


def configure(folder: Path, **targets: str) -> None:
    text = '[watch]\nlisten = "off"\ninterval = "1s"\n' + "".join(
        f'[targets.{n}]\nurl = "{u}"\n' for n, u in targets.items()
    )
    (folder / "whystall.toml").write_text(text)


async def next_line(process: asyncio.subprocess.Process) -> dict[str, object]:
    return json.loads(await process.stdout.readline())


async def test_killed_in_the_middle_it_goes_on_and_the_incident_is_the_same(tmp_path: Path) -> None:
    async with emulator(speed=10, rate=10.0, faults=("kv_capacity@80",)) as (url, deployment):
        calm = deployment.serving.traffic
        configure(tmp_path, prod=url)
        first = await started(tmp_path)
        opened = (await next_line(first))["incident"]
        first.send_signal(signal.SIGKILL)
        await first.wait()
        with Archive.read(tmp_path / "whystall" / "watch.sqlite") as archive:
            kept = archive.table("prod", 0, 1e12).times
            assert len(kept) > 10
            assert [one.state for one in archive.incidents(10)] == ["open"]
        deployment.at(deployment.now, lambda d, _t: setattr(d.traffic, "plan", calm))
        second = await started(tmp_path)
        closed = await next_line(second)
        while closed["what"] != "recovered":
            closed = await next_line(second)
        assert closed["incident"]["uid"] == opened["uid"]
        second.send_signal(signal.SIGTERM)
        assert await second.wait() == 0
    assert (tmp_path / "whystall" / "cases.sqlite").exists()


async def test_a_signal_reads_the_configuration_again_and_a_wrong_one_changes_nothing(tmp_path: Path) -> None:
    configure(tmp_path, one="http://127.0.0.1:1")
    process = await started(tmp_path, "--log-format", "json", "--log-level", "info")
    dead = (await next_line(process))["incident"]
    assert (dead["engine_id"], dead["kind"]) == ("one", "unreachable")
    assert dead["headline"].startswith("No page: Unreachable: nothing answers at http://127.0.0.1:1")
    (tmp_path / "whystall.toml").write_text("nonsense = = 1")
    process.send_signal(signal.SIGHUP)
    await until_logged(process, "the old one stays")
    configure(tmp_path, one="http://127.0.0.1:1", two="http://127.0.0.1:2")
    process.send_signal(signal.SIGHUP)
    assert (await next_line(process))["incident"]["engine_id"] == "two"
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 1  # they are open still


async def test_on_a_full_disk_it_watches_on_in_memory_and_says_so(tmp_path: Path, free_port: Callable[[], int]) -> None:
    port = free_port()
    async with emulator(speed=10, rate=10.0, faults=("kv_capacity@150",)) as (url, _):
        configure(tmp_path, prod=url)
        more = ("--listen", f"127.0.0.1:{port}", "--log-format", "json")
        process = await started(tmp_path, *more, most_bytes=200_000)
        try:
            await until_logged(process, "the store cannot be written; watching goes on in memory")
            opened = (await next_line(process))["incident"]  # half a minute of the server's clock and more after that
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
                ready = json.loads(await (await session.get("/readyz")).text())
                store = json.loads(await (await session.get("/api/fleet?lang=zh")).text())["store"]
        finally:
            process.send_signal(signal.SIGTERM)
            await process.wait()
    assert (opened["engine_id"], opened["cause"]) == ("prod", "kv_capacity")
    assert ready["ready"]
    assert "cannot be written" in ready["store"] or "disk is full" in ready["store"]
    assert store["held"] > 0
    assert "无法" in store["error_text"]
    with Archive.read(tmp_path / "whystall" / "watch.sqlite") as archive:  # what was there stays
        assert len(archive.table("prod", 0, 1e12).times) > 0


async def until_logged(process: asyncio.subprocess.Process, text: str) -> None:
    while text not in (line := (await process.stderr.readline()).decode()):
        assert line, "it ended before that"


async def test_a_token_that_is_wrong_is_named() -> None:
    async def guarded(request: web.Request) -> web.Response:
        known = request.headers.get("Authorization") == "Bearer right"
        return web.Response(text=counter_page(1.0) if known else "", status=200 if known else 401)

    async with http_server(guarded) as url:
        targets = (WatchTarget("prod", url, Access(token="wrong")),)
        async with daemon(Plan(targets, FAST, host="", workers=0)) as (happened, _):
            headline = (await happened.get()).incident.headline
    assert "AccessDenied" in headline.en
    assert "401" in headline.en
    assert "wrong" not in headline.en


async def test_a_prometheus_that_breaks_off_is_one_incident_of_its_own() -> None:
    async def half(_request: web.Request) -> web.Response:
        return web.Response(text='{"status":"success","data":{"resul', content_type="application/json")

    async with http_server(half) as url:
        targets = (WatchTarget("prom", f"prometheus+{url}"),)
        async with daemon(Plan(targets, FAST, host="", workers=0)) as (happened, _):
            incident = (await happened.get()).incident
    assert (incident.engine_id, incident.kind) == ("prom", "unreachable")
    assert "half an answer" in incident.headline.en

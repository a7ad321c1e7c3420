"""The daemon over real HTTP, against emulated servers that run faster than time."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp
import jsonschema
import pytest

from emulated import emulator
from whystall.model.incident import Happening
from whystall.reports.schema import schema
from whystall.service.daemon import Plan, watch
from whystall.service.log import Log
from whystall.service.server import Watching
from whystall.service.target import WatchTarget

LOAD = {"rate": 10.0, "num_gpu_blocks": 20000, "max_model_len": 16384}
TRAFFIC = {"mix": ()}


async def until_opened(happened: asyncio.Queue[Happening]) -> Happening:
    while True:
        found = await happened.get()
        if found.what == "opened":
            return found


@pytest.mark.parametrize("workers", [1])
async def test_an_incident_is_seen_over_http_and_shown(workers: int, tmp_path: Path) -> None:
    happened: asyncio.Queue[Happening] = asyncio.Queue()
    address: asyncio.Queue[str] = asyncio.Queue()
    async with emulator(speed=20, rate=10.0, faults=("kv_capacity@120",)) as (url, _):
        targets = (WatchTarget("prod", url), WatchTarget("gone", "http://127.0.0.1:1"))
        plan = Plan(targets, Watching(interval_s=2.0), port=0, workers=workers, cases=tmp_path / "cases.sqlite")
        task = asyncio.create_task(watch(plan, Log(write=lambda _: None), [happened.put_nowait], address.put_nowait))
        base = await address.get()
        first, second = await until_opened(happened), await until_opened(happened)
        found = {one.incident.target: one.incident for one in (first, second)}
        assert found["http://127.0.0.1:1"].kind == "unreachable"
        assert found[url].cause == "kv_capacity"
        async with aiohttp.ClientSession(base) as session:
            bodies = {
                "fleet": await get(session, "/api/fleet"),
                "engine": await get(session, "/api/engines/prod"),
                "incidents": await get(session, "/api/incidents"),
                "incident": await get(session, f"/api/incidents/{found[url].id}"),
                "cases": await get(session, "/api/cases?lang=zh"),
            }
            for name, body in bodies.items():
                jsonschema.validate(body, schema(name))
            assert bodies["engine"]["engine"]["binding_limit"] == "kv_capacity"
            assert {one["id"] for one in bodies["fleet"]["engines"]} == {"prod", "gone"}
            assert (await session.get("/readyz")).status == 200
            assert (await session.get("/api/engines/nobody")).status == 404
            page = await (await session.get("/metrics")).text()
        assert 'whystall_incident{target="prod",engine="0",model="m",cause="kv_capacity"' in page
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def get(session: aiohttp.ClientSession, path: str) -> dict[str, object]:
    async with session.get(path) as answer:
        assert answer.status == 200
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        return json.loads(await answer.text())

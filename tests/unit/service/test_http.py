import json
from contextlib import asynccontextmanager

import pytest
from aiohttp.test_utils import TestClient, TestServer

from watched_pages import Emulated
from whystall.service.events import Event
from whystall.service.guard import Guard
from whystall.service.http import Face
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.server import Watching
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers


@asynccontextmanager
async def face(token: str = ""):
    emulated = Emulated("kv_capacity", at=120, until=900)
    emulated.run(200)
    watcher = Watcher(Watching(), Ledger(), Workers(0), Log(write=lambda _: None))
    watcher.lookout = emulated.lookout
    for happening in emulated.happened:
        watcher._tell(happening)
    async with TestClient(TestServer(Face(watcher, Guard(token)).app())) as client:
        yield client, watcher, emulated


async def test_events_are_told_as_they_come():
    async with face() as (client, watcher, emulated), client.get("/api/events?lang=zh") as response:
        assert response.headers["Content-Type"].startswith("text/event-stream")
        assert await response.content.readline() == b"retry: 3000\n"
        await response.content.readline()
        watcher.events.tell(Event("look", "a"))
        watcher.events.tell(Event("happening", "a", emulated.happened[0]))
        assert await response.content.readline() == b"event: look\n"
        assert json.loads((await response.content.readline())[6:]) == {"id": "a"}
        await response.content.readline()
        assert await response.content.readline() == b"event: happening\n"
        body = json.loads((await response.content.readline())[6:])
        assert body["schema"] == "whystall.happening/1"
        assert "KV" in body["incident"]["headline"]


async def test_answers_are_in_the_language_that_is_asked_for():
    async with face() as (client, _, _):
        texts = [
            (await (await client.get(f"/api/fleet?lang={lang}")).json())["engines"][0]["headline"]
            for lang in ("en", "zh")
        ]
    assert texts[0].startswith("KV cache too small")
    assert texts[0] != texts[1]


async def test_an_incident_has_its_diagnosis_and_the_list_has_not():
    async with face() as (client, _, _):
        (listed,) = (await (await client.get("/api/incidents")).json())["incidents"]
        one = await (await client.get(f"/api/incidents/{listed['id']}")).json()
    assert listed["diagnosis"] is None
    assert one["diagnosis"]["causes"][0]["id"] == "kv_capacity"


@pytest.mark.parametrize(
    "path", ["/api/engines/x", "/api/incidents/99", "/api/cases/1", "/api/incidents/x", "/nothing"]
)
async def test_what_is_not_there_is_404(path):
    async with face() as (client, _, _):
        assert (await client.get(path)).status == 404


async def test_a_browser_changes_the_token_for_a_cookie():
    async with face("right") as (client, _, _):
        assert (await client.get("/api/fleet")).status == 401
        assert (await client.post("/api/session", json={"token": "wrong"})).status == 401
        assert (await client.post("/api/session", data=b"nothing")).status == 400
        answer = await client.post("/api/session", json={"token": "right"})
        assert "HttpOnly" in answer.headers["Set-Cookie"]
        assert "SameSite=Strict" in answer.headers["Set-Cookie"]
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        assert (await client.get("/api/fleet", headers={"Cookie": cookie})).status == 200


async def test_readiness_waits_for_the_first_answers():
    async with face() as (client, watcher, _):
        assert (await client.get("/readyz")).status == 503
        watcher.ready.set()
        assert (await client.get("/readyz")).status == 200
        assert (await client.get("/healthz")).status == 200

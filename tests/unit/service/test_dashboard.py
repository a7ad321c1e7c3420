"""The dashboard on the watcher's own face, behind its guard."""

from contextlib import asynccontextmanager

from aiohttp.test_utils import TestClient, TestServer

from watched_pages import Emulated
from whystall.service.dashboard import Dashboard, windows_of
from whystall.service.guard import Guard
from whystall.service.http import Face
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.server import Watching
from whystall.service.static_files import open_paths
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers


@asynccontextmanager
async def client(token: str = ""):
    emulated = Emulated()
    emulated.run(60)
    watcher = Watcher(Watching(), Ledger(), Workers(0), Log(write=lambda _: None))
    watcher.lookout = emulated.lookout
    dashboard = Dashboard(windows_of(emulated.lookout))
    app = Face(watcher, Guard(token, open_paths())).app(dashboard.add_to)
    async with TestClient(TestServer(app)) as found:
        yield found


async def test_the_page_is_open_and_what_it_asks_for_is_not():
    async with client("sesame") as one:
        page = await one.get("/")
        assert (page.status, page.content_type) == (200, "text/html")
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        assert (await one.get("/web/app.js")).status == 200
        for path in ("/api/catalogue", "/api/traces", "/api/whatif/a", "/api/cases/1/postmortem"):
            assert (await one.get(path)).status == 401, path
        assert (await one.post("/api/session", json={"token": "sesame"})).status == 200
        assert (await one.get("/api/catalogue")).status == 200


async def test_a_what_if_is_played_on_the_window_that_is_watched():
    async with client() as one:
        form = await (await one.get("/api/whatif/a")).json()
        assert form["engine"] == "a"
        answer = await one.post("/api/whatif", json={"engine": "a", "assume": {"rate": "0.5"}, "draws": 4})
        found = await answer.json()
        assert answer.status == 200, found
        assert found["predictions"][0]["metrics"]
        assert found["predictions"][0]["draws"] == 4
        assert (await one.get("/api/whatif/b")).status == 404


async def test_files_that_are_not_there_are_not_found():
    async with client() as one:
        for path in ("/web/none.js", "/web/..%2Fhttp.py", "/web/__init__.py", "/none"):
            assert (await one.get(path)).status == 404, path

"""The dashboard served on loopback by the recordings' nouns, with a stream of events that a test sends itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from aiohttp import web

import shown
from whystall.cases.book import Book
from whystall.model.case import CaseList, in_language
from whystall.model.fleet import EngineView, Fleet
from whystall.model.incident import Incident, IncidentList
from whystall.reports.json import to_json
from whystall.service.api_incident_charts import Kept
from whystall.service.api_whatif import EngineWindow
from whystall.service.dashboard import Dashboard

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class Scene:
    """What the server shows; a test may change it while it runs, then :meth:`tell`."""

    def __init__(self, cases: Path | None = None, traces: Path | None = None) -> None:
        self.fleet: Fleet = shown.fleet()
        self.views: dict[str, EngineView] = {}
        self.incidents: list[Incident] = []
        self.recordings: dict[str, str] = {}
        self.cases = cases
        self.traces = traces
        self.token = ""
        self.broken = False  # answers 500 to everything under /api
        self.url = ""
        self.loop: asyncio.AbstractEventLoop | None = None
        self.listeners: set[asyncio.Queue[bytes | None]] = set()

    def tell(self, event: str, body: bytes = b"{}") -> None:
        """Send an event to every page that listens; an empty name ends their streams."""
        line = f"event: {event}\ndata: {body.decode()}\n\n".encode() if event else None
        assert self.loop is not None
        for queue in list(self.listeners):
            self.loop.call_soon_threadsafe(queue.put_nowait, line)

    def window(self, id: str) -> EngineWindow | None:
        name = self.recordings.get(id)
        return EngineWindow(shown.recording(name), "0") if name else None

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._policed])
        app.router.add_get("/api/fleet", self._fleet)
        app.router.add_get("/api/engines/{id}", self._engine)
        app.router.add_get("/api/incidents", self._incidents)
        app.router.add_get("/api/incidents/{id}", self._incident)
        app.router.add_get("/api/cases", self._cases)
        app.router.add_get("/api/cases/{id:[0-9]+}", self._case)
        app.router.add_get("/api/events", self._events)
        app.router.add_post("/api/session", self._session)
        Dashboard(self.window, self.cases, self.traces, 4 << 20, incidents=self._kept).add_to(app)
        return app

    def _kept(self, number: int) -> Kept | None:
        """No store: the page shows the engine's own charts."""
        return next((Kept(one, one.engine_id, "") for one in self.incidents if one.id == number), None)

    @web.middleware
    async def _policed(self, request: web.Request, handler) -> web.StreamResponse:
        response: web.StreamResponse
        api = request.path.startswith("/api/") and request.path != "/api/session"
        if api and self.token and request.cookies.get("session") != self.token:
            response = web.json_response({"error": "a bearer token is needed"}, status=401)
        elif api and self.broken:
            response = web.json_response({"error": "the store is gone", "hint": "look at the disk"}, status=500)
        else:
            try:
                response = await handler(request)
            except web.HTTPException as error:
                response = web.json_response({"error": error.reason}, status=error.status)
        if not response.prepared:
            response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    def _json(self, request: web.Request, noun: msgspec.Struct) -> web.Response:
        return web.json_response(text=to_json(noun, request.query.get("lang", "en")))

    async def _fleet(self, request: web.Request) -> web.Response:
        return self._json(request, self.fleet)

    async def _engine(self, request: web.Request) -> web.Response:
        if request.match_info["id"] not in self.views:
            raise web.HTTPNotFound(reason="no such engine")
        return self._json(request, self.views[request.match_info["id"]])

    async def _incidents(self, request: web.Request) -> web.Response:
        bare = (msgspec.structs.replace(one, diagnosis=None) for one in self.incidents)
        return self._json(request, IncidentList(tuple(bare)))

    async def _incident(self, request: web.Request) -> web.Response:
        for one in self.incidents:
            if str(one.id) == request.match_info["id"]:
                return self._json(request, one)
        raise web.HTTPNotFound(reason="no such incident")

    async def _cases(self, request: web.Request) -> web.Response:
        if self.cases is None:
            return self._json(request, CaseList("", (), {}))
        from whystall.cases.success import success

        with Book.read(self.cases) as book:
            found = book.summaries()
        return self._json(request, CaseList(self.cases.name, tuple(found), success(found)))

    async def _case(self, request: web.Request) -> web.Response:
        assert self.cases is not None
        with Book.read(self.cases) as book:
            case = book.case(int(request.match_info["id"]))
        lang = request.query.get("lang", "en")
        parts = {name: in_language(getattr(case, name), lang) for name in ("diagnosis", "after", "prediction", "trial")}
        return self._json(request, msgspec.structs.replace(case, **parts))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.listeners.add(queue)
        try:
            while (line := await queue.get()) is not None:
                await response.write(line)
        finally:
            self.listeners.discard(queue)
        return response

    async def _session(self, request: web.Request) -> web.Response:
        given = (await request.json()).get("token")
        if given != self.token:
            return web.json_response({"error": "this is not the token"}, status=401)
        response = web.json_response({"ok": True})
        response.set_cookie("session", self.token, httponly=True)
        return response


@contextmanager
def serving(scene: Scene, port: int = 0) -> Iterator[str]:
    """The scene on a thread of its own, so that a browser and a test may both wait for it."""
    ready, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        runner = web.AppRunner(scene.app(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        scene.loop, scene.url = asyncio.get_running_loop(), f"http://127.0.0.1:{runner.addresses[0][1]}"
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield scene.url
    finally:
        assert scene.loop is not None
        scene.loop.call_soon_threadsafe(stop.set)
        thread.join(30)

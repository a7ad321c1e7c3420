"""The HTTP face: JSON for the dashboard, events, health, and our own metrics."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web
from msgspec.structs import replace

from whystall.cases.book import Book
from whystall.errors import NoSuchCase, UsageError, WhystallError
from whystall.model.case import Case, CaseList, in_language
from whystall.model.incident import IncidentList
from whystall.model.text import LANGUAGES
from whystall.reports.json import to_json

from . import own_metrics
from .events import Event
from .guard import COOKIE, Guard
from .view import engine_view, fleet
from .watcher import Watcher

KEEP_ALIVE_S = 15.0  # proxies close a stream that is silent for a minute
MOST_LISTENERS = 100
LISTED = 200
_BODY_BYTES = 10_000


class Face:
    """The interface of one watcher. ``cases`` is the store of cases; every answer is in ``?lang=en`` or ``zh``."""

    def __init__(self, watcher: Watcher, guard: Guard, cases: Path | None = None, lang: str = "en") -> None:
        self.watcher = watcher
        self.guard = guard
        self.cases = cases
        self.lang = lang

    def app(self, more: Callable[[web.Application], None] | None = None) -> web.Application:
        """The application; ``more`` may add routes, as the dashboard's pages."""
        app = web.Application(middlewares=[self.guard.middleware], client_max_size=_BODY_BYTES)
        app.router.add_get("/api/fleet", self._fleet)
        app.router.add_get("/api/engines/{id}", self._engine)
        app.router.add_get("/api/incidents", self._incidents)
        app.router.add_get("/api/incidents/{id:[0-9]{1,9}}", self._incident)
        app.router.add_get("/api/cases", self._cases)
        app.router.add_get("/api/cases/{id:[0-9]{1,9}}", self._case)
        app.router.add_get("/api/events", self._events)
        app.router.add_post("/api/session", self._session)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        if more is not None:
            more(app)
        return app

    # -- nouns

    async def _fleet(self, request: web.Request) -> web.Response:
        watcher = self.watcher
        return self._json(request, fleet(watcher.lookout, watcher.store, watcher.started, watcher.links))

    async def _engine(self, request: web.Request) -> web.Response:
        found = self.watcher.lookout.engine(request.match_info["id"])
        if found is None:
            raise web.HTTPNotFound(reason="no such engine")
        return self._json(request, engine_view(*found, self.watcher.ledger.newest()))

    async def _incidents(self, request: web.Request) -> web.Response:
        found = self.watcher.ledger.newest(LISTED)
        return self._json(request, IncidentList(tuple(replace(one, diagnosis=None) for one in found)))

    async def _incident(self, request: web.Request) -> web.Response:
        incident = self.watcher.ledger.get(int(request.match_info["id"]))
        if incident is None:
            raise web.HTTPNotFound(reason="no such incident")
        return self._json(request, incident)

    async def _cases(self, request: web.Request) -> web.Response:
        return self._json(request, await asyncio.to_thread(_listed, self.cases))

    async def _case(self, request: web.Request) -> web.Response:
        try:
            case = await asyncio.to_thread(_one_case, self.cases, int(request.match_info["id"]))
        except NoSuchCase:
            raise web.HTTPNotFound(reason="no such case") from None
        lang = self._lang(request)
        shown = replace(case, diagnosis=in_language(case.diagnosis, lang), after=in_language(case.after, lang))
        shown = replace(shown, prediction=in_language(case.prediction, lang), trial=in_language(case.trial, lang))
        return self._json(request, shown)

    def _json(self, request: web.Request, noun: msgspec.Struct) -> web.Response:
        return web.json_response(text=to_json(noun, self._lang(request)))

    def _lang(self, request: web.Request) -> str:
        asked = request.query.get("lang", "")
        return asked if asked in LANGUAGES else self.lang

    # -- events

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: ``happening`` with the incident, ``look`` with the id of an engine that was looked at."""
        if self.watcher.events.listeners >= MOST_LISTENERS:
            raise web.HTTPServiceUnavailable(reason="too many listeners")
        headers = {
            "Content-Type": "text/event-stream; charset=utf-8",
            "X-Accel-Buffering": "no",
            "Cache-Control": "no-store",
        }
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        with self.watcher.events.listening() as queue:
            await response.write(b"retry: 3000\n\n")
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    await response.write(b": still here\n\n")
                    continue
                await response.write(self._written(event, self._lang(request)))

    def _written(self, event: Event, lang: str) -> bytes:
        noun = event.noun
        body = (
            to_json(noun, lang).replace("\n", "")
            if noun is not None
            else msgspec.json.encode({"id": event.id}).decode()
        )
        return f"event: {event.kind}\ndata: {body}\n\n".encode()

    # -- the rest

    async def _session(self, request: web.Request) -> web.Response:
        """A browser gives the token once, and keeps a cookie that no script can read."""
        try:
            body = msgspec.json.decode(await request.read(), type=dict[str, str])
        except msgspec.DecodeError:
            raise web.HTTPBadRequest(reason="not JSON") from None
        if not self.guard.knows(body.get("token", "")):
            await asyncio.sleep(0.5)  # who guesses does so slowly
            return web.json_response({"error": "this is not the token"}, status=401)
        response = web.json_response({"ok": True})
        response.set_cookie(
            COOKIE, self.guard.session, httponly=True, samesite="Strict", secure=request.secure, path="/"
        )
        return response

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(
            body=own_metrics.page(self.watcher).encode(), headers={"Content-Type": own_metrics.CONTENT_TYPE}
        )

    async def _healthz(self, _request: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def _readyz(self, _request: web.Request) -> web.Response:
        ready = self.watcher.ready.is_set()
        body = {"ready": ready, "store": self.watcher.store.error or "ok"}
        return web.json_response(body, status=200 if ready else 503)


def _listed(path: Path | None) -> CaseList:
    if path is None:
        return CaseList("", (), {})
    from whystall.cases.success import success

    try:
        with Book.read(path) as book:
            found = book.summaries(limit=LISTED)
    except WhystallError:  # the watcher goes on without its cases
        found = []
    return CaseList(str(path), tuple(found), success(found))


def _one_case(path: Path | None, number: int) -> Case:
    if path is None:
        raise NoSuchCase("no cases are kept")
    with Book.read(path) as book:
        return book.case(number)


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``app``; yields its address. Raises UsageError where the port cannot be had."""
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}", "Give another --listen, or off."
            ) from error
        address = runner.addresses[0]
        yield f"http://{address[0]}:{address[1]}"
    finally:
        await runner.cleanup()

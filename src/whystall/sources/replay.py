"""A recording served as a live server, for demos, tests and second looks."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from whystall.errors import InputError, UsageError
from whystall.model.recording import Health

from .files.stream import read_all, read_lines
from .live.clock import AGE_HEADER, CLOCK_HEADER, MAX_SPEED, MIN_SPEED, SPEED_HEADER, STEP
from .log_playback import LogPlayback
from .playback import Playback

HOST = "127.0.0.1"
_BODIES = {"/version": "version.json", "/v1/models": "models.json", "/server_info": "server_info.json"}
_LIMIT_BYTES = 16 * 1024 * 1024
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Replay:
    """The answers of a recorded server. Its time begins with the first scrape and runs ``speed`` times as fast as ours.

    With ``speed`` 0 each scrape gets the next page. A page stands until the next was recorded; where a scrape failed
    it answers 503. After the last page ``/metrics`` answers 410, which ends a collection; with ``loop``
    it begins again. The recorded log is appended to the file ``log``, where one is named, as its lines come due.
    """

    def __init__(self, folder: Path, speed: float = 1.0, loop: bool = False, log: Path | None = None) -> None:
        """Raises NotARecording, NotWritable, and UsageError for a speed that cannot be."""
        if speed != 0 and not MIN_SPEED <= speed <= MAX_SPEED:
            raise UsageError(
                f"a speed of {speed:g} cannot be replayed",
                f"give 0 (a page a scrape), or {MIN_SPEED:g} to {MAX_SPEED:g}",
            )
        self.playback = Playback(folder, loop)
        self._bodies = {path: _body(folder / name) for path, name in _BODIES.items()}
        self._health = _health(folder)
        self._speed = speed
        self._began: float | None = None
        self._log = LogPlayback(folder, self.playback.path, log) if log else None
        self._play_log()

    def now(self) -> float:
        """The time on the recording's clock."""
        if self._began is None or not self._speed:
            return self.playback.t
        return self.playback.start + (time.monotonic() - self._began) * self._speed

    def finished(self) -> bool:
        """Whether the last page has had its time, whether anybody scraped it or not."""
        if self._began is not None and self._speed:
            self.playback.advance_to(self.now())
        return self.playback.ended

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._clocked])
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/health", self._healthy)
        for path in _BODIES:
            app.router.add_get(path, self._fact)
        return app

    async def _metrics(self, request: web.Request) -> web.Response:
        self._pass_time()
        self._play_log()
        if self.playback.ended:
            raise web.HTTPGone(text="the recording has ended\n")
        page = self.playback.page
        if page.error:
            raise web.HTTPServiceUnavailable(text=f"this scrape failed when it was recorded: {page.error}\n")
        return web.Response(body=page.page, headers={"Content-Type": _METRICS_TYPE})

    def _play_log(self) -> None:
        # When a page is asked for, not by a timer: a reader looks at the log after the page.
        if self._log is not None:
            self._log.advance_to(self.now())

    def _pass_time(self) -> None:
        if self._began is None:
            self._began = time.monotonic()
        elif self._speed:
            self.playback.advance_to(self.now())
        else:
            self.playback.advance()

    async def _fact(self, request: web.Request) -> web.Response:
        body = self._bodies[request.path]
        if not body:
            raise web.HTTPNotFound
        return web.Response(body=body, content_type="application/json")

    async def _healthy(self, request: web.Request) -> web.Response:
        """What was last recorded by now; 200 where health was not recorded. It must not move a stepwise clock."""
        known = [health.status for health in self._health if health.t <= self.now()]
        return web.Response(status=(known[-1] or 503) if known else 200)

    @web.middleware
    async def _clocked(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            response = await handler(request)
        except web.HTTPException as error:
            response = web.Response(status=error.status, text=error.text)
        response.headers[CLOCK_HEADER] = f"{self.playback.t:.3f}"
        response.headers[AGE_HEADER] = f"{max(0.0, self.now() - self.playback.t):.3f}"
        response.headers[SPEED_HEADER] = f"{self._speed:g}" if self._speed else STEP
        return response


@asynccontextmanager
async def serve_replay(
    folder: Path, *, port: int = 0, speed: float = 1.0, loop: bool = False, log: Path | None = None
) -> AsyncIterator[str]:
    """Serves ``folder`` on loopback while the block runs and gives its URL; port 0 takes a free one.

    Raises what :class:`Replay` raises, and UsageError where the port is taken.
    """
    async with serve(Replay(folder, speed, loop, log), port) as url:
        yield url


@asynccontextmanager
async def serve(replay: Replay, port: int) -> AsyncIterator[str]:
    """As :func:`serve_replay`, for a replay whose clock the caller watches."""
    runner = web.AppRunner(replay.application(), access_log=None)
    await runner.setup()
    try:
        listener = _listen(port)
        await web.SockSite(runner, listener).start()
        yield f"http://{HOST}:{listener.getsockname()[1]}"
    finally:
        await runner.cleanup()


def _listen(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise UsageError(
            f"port {port} of {HOST} cannot be served: {reason}", "choose another one with --port"
        ) from None


def _body(path: Path) -> bytes:
    return read_all(path, _LIMIT_BYTES)[0] if path.is_file() else b""


def _health(folder: Path) -> list[Health]:
    path = next((path for name in ("health.jsonl.gz", "health.jsonl") if (path := folder / name).is_file()), None)
    if path is None:
        return []
    try:
        return [msgspec.json.decode(line, type=Health) for line in read_lines(path, _LIMIT_BYTES)[0]]
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not what whystall records: {error}", "leave the file out") from None

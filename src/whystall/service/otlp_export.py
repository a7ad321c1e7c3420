"""Findings, incidents and own metrics sent by OTLP, for whoever keeps them elsewhere: a collector, Datadog, New Relic."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from whystall.errors import AccessDenied, Refused, Unavailable, WhystallError
from whystall.model.duration import parse_duration
from whystall.model.incident import Happening
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

from .log import Log
from .otlp_messages import logs_message, metrics_message
from .own_metrics import families
from .scraping import pause_s
from .settings import OtlpSettings
from .watcher import Watcher

MOST_WAITING = 1000  # happenings that a backend which is away has still to get; the oldest go first
_AT_ONCE = 100
_KIND = "application/x-protobuf"
_BUSY = (408, 429)


class OtlpExport:
    """Sends until it is cancelled. ``tell`` takes every happening; ``sent`` and ``failed`` count exports."""

    def __init__(self, settings: OtlpSettings, log: Log) -> None:
        self._address = Address.parse(settings.endpoint)
        self._access = settings.access()
        self._every_s = parse_duration(settings.every)
        self._lang = settings.lang
        self._log = log
        self._waiting: deque[Happening] = deque(maxlen=MOST_WAITING)
        self._wake = asyncio.Event()
        self._away = ""
        self._failures = 0
        self.sent = self.failed = 0

    def tell(self, happening: Happening) -> None:
        """Have it sent; it does not wait."""
        self._waiting.append(happening)
        self._wake.set()

    async def run(self, watcher: Watcher) -> None:
        """Metrics every so often, what happened at once; a backend that is away is asked again with longer pauses."""
        async with Session(self._address, self._access) as session:
            while True:
                await self.once(session, watcher)
                await self._pause()

    async def _pause(self) -> None:
        self._wake.clear()
        if self._failures:
            await asyncio.sleep(pause_s(self._every_s, self._failures))
            return
        try:
            await asyncio.wait_for(self._wake.wait(), pause_s(self._every_s, 0))
        except TimeoutError:
            return

    async def once(self, session: Session, watcher: Watcher) -> None:
        """Send what there is. What could not be sent of the happenings waits; metrics are made anew."""
        try:
            while self._waiting:
                some = list(self._waiting)[:_AT_ONCE]
                await self._send(session, "/v1/logs", logs_message(some, self._lang))
                for _ in some:
                    self._waiting.popleft()
            await self._send(session, "/v1/metrics", metrics_message(families(watcher), time.time(), watcher.started))
        except WhystallError as error:
            self._failures += 1
            self.failed += 1
            if error.message != self._away:  # once, and not with every attempt
                self._away = error.message
                self._log.error("OTLP could not be sent", to=self._address.base, why=error.message)
        else:
            if self._away:
                self._log.info("OTLP is sent again", to=self._address.base)
            self._away, self._failures = "", 0

    async def _send(self, session: Session, path: str, body: bytes) -> None:
        answer = await session.send("POST", path, body, kind=_KIND)
        where = self._address.base
        if answer.status in (401, 403):
            raise AccessDenied(f"{where} answered {answer.status}: it wants credentials, or not these", "see key_env")
        if answer.status >= 500 or answer.status in _BUSY:
            raise Unavailable(f"{where} answered {answer.status}")
        if not 200 <= answer.status < 300:
            raise Refused(f"{where} answered {answer.status} to {path}; is it an OTLP endpoint over HTTP?")
        self.sent += 1

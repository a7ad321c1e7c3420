"""One receiver of notices: a queue of its own, tried again with longer pauses, and what it was told of."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from fnmatch import fnmatchcase

from msgspec.structs import replace

from whystall.errors import AccessDenied, NotMetrics, Refused, Unavailable, UsageError, WhystallError
from whystall.model.health import HealthReport
from whystall.model.incident import Happening, Incident
from whystall.service.log import Log
from whystall.service.settings import NoticeSettings
from whystall.sources.live.access import Access
from whystall.sources.live.http import Answer, Session

from . import alertmanager, chat, pagerduty, webhook
from .message import Message, message, report_message
from .request import Post

MOST_WAITING = 1000
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
ATTEMPTS = 12  # some eight minutes
TIMEOUT_S = 10.0
_AGAIN = (408, 425, 429)
_CHATS = ("slack", "feishu", "dingtalk", "wecom")


class Receiver:
    """Tells one receiver. Give it happenings with :meth:`tell`; :meth:`run` sends them until it is cancelled."""

    def __init__(
        self,
        settings: NoticeSettings,
        log: Log,
        external_url: str = "",
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        self.settings = settings
        self._url, self._key = settings.address(), settings.key()
        self._log = log
        self._external_url = external_url
        self._waiting: deque[Happening | HealthReport] = deque(maxlen=MOST_WAITING)
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._told: dict[str, Incident] = {}  # open ones that it knows of
        self._sleep = sleep or asyncio.sleep
        self.sent = self.lost = 0

    def tell(self, happening: Happening) -> None:
        """Have ``happening`` sent, where it concerns this receiver. One that it was not told the begin of begins with it."""
        incident = happening.incident
        if not any(fnmatchcase(incident.engine_id, pattern) for pattern in self.settings.targets):
            return
        known = incident.uid in self._told
        if incident.ended:
            if known:
                del self._told[incident.uid]
                self._put(happening)
            return
        if incident.silenced or (incident.state == "warning" and not self.settings.warnings):
            return
        self._told[incident.uid] = incident
        self._put(happening if known else replace(happening, what="opened"))

    def remember(self, incidents: list[Incident]) -> None:
        """Incidents that it was told of before a restart, as far as one can know: those that it would have been told of."""
        for incident in incidents:
            said = not incident.silenced and (incident.state != "warning" or self.settings.warnings)
            if said and any(fnmatchcase(incident.engine_id, pattern) for pattern in self.settings.targets):
                self._told[incident.uid] = incident

    def report(self, report: HealthReport) -> None:
        """Have a health report sent, where it is wanted and the receiver has a place for one."""
        if self.settings.reports and self.settings.kind in (*_CHATS, "webhook"):
            self._put(report)

    def _put(self, told: Happening | HealthReport) -> None:
        self._waiting.append(told)
        self._idle.clear()
        self._wake.set()

    async def run(self) -> None:
        """Send until cancelled."""
        repeat = alertmanager.REPEAT_S if self.settings.kind == "alertmanager" else None
        while True:
            try:
                await asyncio.wait_for(self._wake.wait(), repeat)
            except TimeoutError:  # Alertmanager forgets what is not said again
                self._waiting.extend(Happening("updated", incident) for incident in self._told.values())
            self._wake.clear()
            while self._waiting:
                await self._deliver(self._waiting.popleft())
            self._idle.set()

    async def drained(self) -> None:
        """Returns once all that was told is sent or given up."""
        await self._idle.wait()

    async def _deliver(self, told: Happening | HealthReport) -> None:
        pause, why = FIRST_PAUSE_S, ""
        for _ in range(ATTEMPTS):
            try:
                await self._send(self.post(told, time.time()))
            except (Refused, UsageError, AccessDenied, NotMetrics) as error:
                why = error.message
                break
            except WhystallError as error:
                why = error.message
                await self._sleep(pause)  # type: ignore[misc]
                pause = min(2 * pause, LONGEST_PAUSE_S)
            else:
                self.sent += 1
                return
        self.lost += 1
        about = told.incident.id if isinstance(told, Happening) else None
        self._log.error("a notice could not be sent", kind=self.settings.kind, incident=about, why=why)

    async def _send(self, post: Post) -> None:
        access = Access(token=post.key, timeout_s=TIMEOUT_S)
        async with Session(post.address, access) as session:
            answer = await session.post(post.path, post.body)
        _check(answer, post.host)
        if self.settings.kind in _CHATS:
            chat.check(answer.body)

    def post(self, told: Happening | HealthReport, now: float) -> Post:
        """What is sent of it."""
        lang, url, key = self.settings.lang, self._url, self._key
        if isinstance(told, HealthReport):
            said = report_message(told, lang, self._external_url)
            if self.settings.kind == "webhook":
                return webhook.post_report(told, said, url, key, lang)
            return self._chat(said, now)
        said = message(told, lang, self._external_url)
        match self.settings.kind:
            case "alertmanager":
                return alertmanager.post(told, said, url, key, now)
            case "pagerduty":
                return pagerduty.post(told, said, url, key)
            case "webhook":
                return webhook.post(told, said, url, key, lang)
        return self._chat(said, now)

    def _chat(self, said: Message, now: float) -> Post:
        match self.settings.kind:
            case "feishu":
                return chat.feishu(said, self._url, self._key, now)
            case "dingtalk":
                return chat.dingtalk(said, self._url, self._key, now)
            case "wecom":
                return chat.wecom(said, self._url)
        return chat.slack(said, self._url)


def _check(answer: Answer, host: str) -> None:
    if answer.status >= 500 or answer.status in _AGAIN:
        raise Unavailable(f"{host} answered {answer.status}")
    if not 200 <= answer.status < 300:
        raise Refused(f"{host} answered {answer.status}; is the URL or the key the right one?")

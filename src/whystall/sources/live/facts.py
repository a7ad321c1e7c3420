"""What a server says beside its metrics: version, models, configuration, health."""

from __future__ import annotations

import asyncio

import msgspec

from whystall.errors import WhystallError
from whystall.model.recording import Health

from .clock import Clock
from .http import Session

_LIMIT_BYTES = 8 * 1024 * 1024


class ServerFacts(msgspec.Struct, frozen=True):
    """Bodies as they came, "" where the endpoint did not answer 200. ``version`` is the body of ``/version``."""

    version: str = ""
    models: str = ""
    server_info: str = ""


async def read_facts(session: Session) -> ServerFacts:
    """Asks every endpoint once, side by side. Most servers lack some, so nothing is raised."""
    version, models, info = await asyncio.gather(
        _text(session, "/version"), _text(session, "/v1/models"), _text(session, "/server_info?config_format=json")
    )
    return ServerFacts(version, models, info or await _text(session, "/server_info"))


async def read_health(session: Session, clock: Clock) -> Health:
    """What ``/health`` answers now; status 0 where nothing answered."""
    try:
        status = (await session.get("/health", _LIMIT_BYTES)).status
    except WhystallError:
        status = 0
    return Health(t=clock.now(), status=status)


async def _text(session: Session, path: str) -> str:
    try:
        answer = await session.get(path, _LIMIT_BYTES)
    except WhystallError:
        return ""
    html = answer.body[:64].lstrip().startswith(b"<")  # a gateway's own page
    return answer.body.decode("utf-8", "replace") if answer.status == 200 and not html else ""

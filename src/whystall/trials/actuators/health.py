"""Waiting until a server serves again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from whystall.errors import AccessDenied, TlsFailed, WhystallError
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

from .actuator import Readiness

EVERY_S = 0.5
_OK = 200
_OUT_OF_MEMORY = ("OutOfMemoryError", "out of memory", "OOMKilled", "Out Of Memory")


async def until_up(
    url: str, seconds: float, access: Access | None = None, gone: Callable[[], str] = lambda: ""
) -> Readiness:
    """Ask ``/health`` until it answers 200, for ``seconds`` at most; ``gone`` says at once why it will never."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    said = "nothing answered"
    async with Session(Address.parse(url), access or Access()) as session:
        while True:
            why = gone()
            if why:
                return Readiness(False, why, is_oom(why))
            try:
                status = (await session.get("/health")).status
                if status == _OK:
                    return Readiness(True)
                said = f"/health answered {status}"
            except (AccessDenied, TlsFailed):
                raise
            except WhystallError as error:
                said = error.message
            if loop.time() >= end:
                return Readiness(False, f"not up after {seconds:g} s: {said}", is_oom(said))
            await asyncio.sleep(EVERY_S)


def is_oom(text: str) -> bool:
    """Whether a server's last words say that it ran out of memory."""
    return any(word in text for word in _OUT_OF_MEMORY)

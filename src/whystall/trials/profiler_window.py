"""A window of vLLM's own profiler on a live server: opened, bounded, and closed whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from whystall.errors import Unavailable, UsageError
from whystall.sources.live.http import Session

MAX_SECONDS = 60.0
FLUSH_TIMEOUT_S = 900.0  # writing a trace with Python stacks has taken five minutes
_METHOD_NOT_ALLOWED, _NOT_FOUND, _CONFLICT = 405, 404, 409


class WindowResult(msgspec.Struct, frozen=True):
    """How it went: seconds profiled, seconds that stopping took (the server stood still), and files that appeared."""

    seconds: float
    stall_s: float
    files: tuple[str, ...]


async def can_profile(session: Session) -> bool:
    """Whether the server was started with a profiler: only then the route exists. Starts nothing."""
    answer = await session.get("/start_profile")
    return answer.status not in (_NOT_FOUND, 501)


async def profile_window(
    session: Session, steps: int, seconds: float, folder: Path | None, say: Callable[[str], None]
) -> WindowResult:
    """Profile at most ``steps`` steps or ``seconds``, then stop, also when interrupted. ``folder`` is where files appear.

    Raises :class:`UsageError` where a window is open already, :class:`Unavailable` where the server refuses.
    """
    before = _files(folder)
    await _start(session, steps)
    started = time.monotonic()
    try:
        await asyncio.sleep(min(seconds, MAX_SECONDS))
    finally:
        stopping = time.monotonic()
        say("stopping the profiler; the server stands still while it writes")
        answer = await asyncio.shield(session.post("/stop_profile", timeout_s=FLUSH_TIMEOUT_S))
    if answer.status >= 400:
        # With max_iterations the server closes the window by itself, and may then have nothing to stop.
        say(f"/stop_profile answered {answer.status}")
    ended = time.monotonic()
    return WindowResult(stopping - started, ended - stopping, tuple(sorted(_files(folder) - before)))


async def _start(session: Session, steps: int) -> None:
    answer = await session.post("/start_profile", {"max_iterations": steps})
    if answer.status in (400, 422):  # versions before the body was read
        answer = await session.post("/start_profile")
    if answer.status == _CONFLICT:
        raise UsageError(
            "a profiler window is open on this server already", "Wait, or close it: curl -X POST URL/stop_profile"
        )
    if answer.status >= 400:
        raise Unavailable(
            f"/start_profile answered {answer.status}", "See the server's log; a gateway may not pass it on."
        )


def _files(folder: Path | None) -> set[str]:
    if folder is None:
        return set()
    with contextlib.suppress(OSError):
        return {str(path) for path in folder.glob("*.pt.trace.json*")}
    return set()

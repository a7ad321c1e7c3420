"""Who takes what a loop of the watch hands on, and can be waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


class Heard:
    """Everything that was handed on, in order, as (what, name, more)."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, Any]] = []
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    def _hear(self, what: str, name: str, more: Any = None) -> None:
        self.all.append((what, name, more))
        task = asyncio.create_task(self._tell())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    def page(self, name, t, page, keys) -> None:
        self._hear(
            "page", name, {keys[i].name: v for i, v in zip(page.ids.tolist(), page.values.tolist(), strict=True)}
        )

    def failed(self, name, t, error, text) -> None:
        self._hear("failed", name, (error, text))

    def facts(self, name, facts) -> None:
        self._hear("facts", name, facts)

    def told(self, name, recording) -> None:
        self._hear("told", name, recording)

    def logged(self, name, chunk, t) -> None:
        self._hear("logged", name, (chunk, t))

    def found(self, name, target) -> None:
        self._hear("found", name, target)

    def back(self, name, t) -> None:
        self._hear("back", name)

    def gone(self, name, t) -> None:
        self._hear("gone", name)

    def only(self, target, members, t) -> None:
        self._hear("only", target, frozenset(members))

    def count(self, what: str, name: str = "") -> int:
        return sum(1 for kind, one, _ in self.all if kind == what and name in ("", one))

    async def until(self, what: str, name: str, more: Any = ..., times: int = 1) -> Any:
        """The detail of the ``times``-th that comes from now on."""
        at = len(self.all)
        async with asyncio.timeout(30), self._news:
            while True:
                found = [one for one in self.all[at:] if one[:2] == (what, name) and more in (..., one[2])]
                if len(found) >= times:
                    return found[times - 1][2]
                await self._news.wait()


@asynccontextmanager
async def running(loop: Any) -> AsyncIterator[None]:
    """``loop.run()`` for as long as the context lasts; what breaks it is raised."""
    task = asyncio.create_task(loop.run())
    try:
        yield
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended

"""What happens, to whoever listens just now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

LONGEST = 256  # events that a slow listener may be behind; then the oldest are dropped


class Event(msgspec.Struct, frozen=True):
    """One event of engine ``id``: ``happening`` (``noun`` is what became of its incident) or ``look`` (it was looked at)."""

    kind: str
    id: str
    noun: msgspec.Struct | None = None


class Events:
    """A place where events are called out."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[Event]] = set()

    def tell(self, event: Event) -> None:
        """Give ``event`` to everybody who listens; never waits."""
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(event)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[Event]]:
        """A queue that gets every event from now on."""
        queue: asyncio.Queue[Event] = asyncio.Queue(LONGEST)
        self._listeners.add(queue)
        try:
            yield queue
        finally:
            self._listeners.discard(queue)

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

"""The loops of the servers behind one target: one is begun for whoever comes, and ended for whoever goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

Loop = Callable[[], Coroutine[Any, Any, None]]


class Members:
    """Loops by name. A context: what runs is cancelled with it."""

    def __init__(self) -> None:
        self._loops: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[asyncio.Task[None]] = set()  # cancelled, and not over yet

    def __contains__(self, name: str) -> bool:
        return name in self._loops

    def aim(self, wanted: Mapping[str, Loop]) -> None:
        """Run exactly these from now on; one that runs already goes on undisturbed, one that broke is begun anew."""
        self._leave(name for name in list(self._loops) if name not in wanted or self._loops[name].done())
        for name, loop in wanted.items():
            if name not in self._loops:
                self._loops[name] = asyncio.create_task(loop())

    async def end(self) -> None:
        """Cancel all, and wait until they are over."""
        self._leave(list(self._loops))
        await asyncio.gather(*self._leaving, return_exceptions=True)

    def _leave(self, names: Iterable[str]) -> None:
        for name in names:
            task = self._loops.pop(name)
            task.cancel()
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

"""Looks in a process of their own, so that scraping never waits for arithmetic."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self, TypeVar

from whystall.model.suggestion import Suggestion
from whystall.model.text import Text

from .foresight import Foresight, foresee
from .look import Job, Looked, look
from .shielded import shielded

Asked = TypeVar("Asked")
Found = TypeVar("Found")
_KILLED = "the process that diagnoses was killed; probably the machine is out of memory"
_CONTEXT = "spawn"  # a forked child of a threaded process may hang


class Workers:
    """A context of ``count`` processes that do jobs; 0 does them here, in turn."""

    def __init__(self, count: int = 1) -> None:
        self._count = count
        self._pool: ProcessPoolExecutor | None = None

    async def look(self, job: Job) -> Looked:
        """Do ``job``. A worker that was killed (for want of memory) is replaced, and the job named as failed."""
        try:
            return await self._done(look, job)
        except BrokenProcessPool:
            return Looked(error=_KILLED)

    async def foresee(self, job: Foresight) -> Suggestion:
        """Do ``job``; a worker that was killed is replaced, and nothing is suggested."""
        try:
            return await self._done(foresee, job)
        except BrokenProcessPool:
            return Suggestion(Text(_KILLED))

    async def _done(self, do: Callable[[Asked], Found], job: Asked) -> Found:
        if self._count == 0:
            return do(job)
        if self._pool is None:
            self._pool = self._new()
        try:
            # systemd ends all processes of a unit at once: a look under way is to come to its end.
            with shielded(signal.SIGINT, signal.SIGTERM):
                doing = asyncio.get_running_loop().run_in_executor(self._pool, do, job)
            return await doing
        except BrokenProcessPool:
            self._pool = None
            raise

    def _new(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context(_CONTEXT)
        return ProcessPoolExecutor(self._count, context, initializer=_begin)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    """In the worker: a parent that was killed takes the worker along."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent.sentinel,), daemon=True).start()


def _leave_with(sentinel: int) -> None:
    from multiprocessing.connection import wait

    wait([sentinel])
    os._exit(0)

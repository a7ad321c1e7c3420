"""A process for what a reader of the dashboard asks, beside those that look: it may take long, or be killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from whystall.errors import TimedOut, TooLarge, Unavailable, WhystallError

from .shielded import shielded

MOST_WAITING = 4
MEMORY_BYTES = 3 << 30  # of data; a trace of a gigabyte of text takes a third of it
_HINT = "Run the same with the command line, where nothing bounds it."


class SideProcess:
    """One process that is started when it is first needed. What is asked meanwhile waits its turn.

    One that overruns its time, or dies, is replaced for the next who asks.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._process: SpawnProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    async def run(self, function: Callable[..., Any], *given: Any, timeout_s: float) -> Any:
        """``function(*given)``, which must be importable. Raises what it raises of ours.

        Raises TimedOut after ``timeout_s``, TooLarge where the memory did not do, Unavailable where the process was
        killed or too many wait.
        """
        if self._waiting >= MOST_WAITING:
            raise Unavailable("too many ask at once", "Try again in a moment.")
        self._waiting += 1
        try:
            # Whoever asked may go away; the process still owes its answer, and the next must not get it.
            return await asyncio.shield(asyncio.ensure_future(self._in_turn(function, given, timeout_s)))
        finally:
            self._waiting -= 1

    async def _in_turn(self, function: Callable[..., Any], given: tuple[Any, ...], timeout_s: float) -> Any:
        async with self._turn:
            answer = await asyncio.to_thread(self._ask, function, given, timeout_s)
        if isinstance(answer, WhystallError):
            raise answer
        return answer

    def _ask(self, function: Callable[..., Any], given: tuple[Any, ...], timeout_s: float) -> Any:
        pipe = self._started()
        try:
            pipe.send((function, given))
            if pipe.poll(timeout_s):
                return pipe.recv()
        except (EOFError, OSError):
            self.close()
            return Unavailable("the process that worked on it was killed; probably it took too much memory", _HINT)
        self.close()
        return TimedOut(f"not done after {timeout_s:.0f} s", _HINT)

    def _started(self) -> Connection[Any, Any]:
        if self._pipe is None or self._process is None or not self._process.is_alive():
            self.close()
            context = multiprocessing.get_context("spawn")  # a forked child of a threaded process may hang
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=_work, args=(theirs,), daemon=True)
            with shielded(signal.SIGINT):  # the terminal's Ctrl-C is for the parent
                self._process.start()
            theirs.close()
        return self._pipe

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _work(pipe: Connection[Any, Any]) -> None:
    """In the process: do what comes, until the other side is gone."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    while True:
        try:
            function, given = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(function, given))


def _answer(function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    try:
        return function(*given)
    except WhystallError as error:
        return error
    except MemoryError:
        return TooLarge(f"it takes more than {MEMORY_BYTES >> 30} GiB of memory", _HINT)

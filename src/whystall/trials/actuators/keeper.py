"""Keeps one server running with the arguments that are wanted: ``python -m whystall.trials.actuators.keeper FOLDER``.

It is a process of its own, so that the loop may be killed at any moment: what is wanted is in a file, and the keeper
brings it about. Arguments with which the server does not come up are given up for those it last ran with. SIGTERM ends
the server and the keeper.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

import psutil

from .kept import KeptFolder, KeptServer, KeptState, Status, Wanted, is_running

EVERY_S = 0.1
_QUICK_DEATHS = 3  # a server that dies so often within a minute is not started again
_QUICK_S = 60.0
_ASK_S = 2.0


class Keeper:
    """The loop of one folder. ``good`` are the arguments with which the server last came up."""

    def __init__(self, folder: KeptFolder, server: KeptServer) -> None:
        self.folder = folder
        self.server = server
        self.stopped = False
        self.process: psutil.Process | None = None
        self.good: tuple[str, ...] | None = None
        self.deaths: list[float] = []
        me = psutil.Process()
        self.me = me.pid, me.create_time()
        self.status: Status | None = None
        self._adopt()

    def run(self) -> None:
        """Until it is told to stop."""
        while not self.stopped:
            wanted = self.folder.wanted()
            if wanted is None:
                pass
            elif wanted.stop:
                break
            elif self.status is None or wanted.number != self.status.number:
                self._change(wanted)
            elif not self._runs() and self.status.state in ("up", "reverted"):
                self._died(wanted)
            time.sleep(EVERY_S)
        self._end()
        self._tell("stopped", self.status.number if self.status else 0, self.good or ())

    def _adopt(self) -> None:
        """The server of a keeper that was killed goes on under this one; else what is wanted is brought about anew."""
        before = self.folder.status()
        if before is None:
            return
        self.good = before.good
        if is_running(before.pid, before.created):
            self.process = psutil.Process(before.pid)
            if before.state in ("up", "reverted"):
                self._tell(before.state, before.number, before.arguments, before.reason)

    def _change(self, wanted: Wanted) -> None:
        """Stop, start with what is wanted; where that does not come up, start with what was there."""
        self._end()
        self._tell("starting", wanted.number, wanted.arguments)
        why = self._start(wanted.arguments)
        if not why:
            self.good = wanted.arguments
            self.deaths.clear()
            self._tell("up", wanted.number, wanted.arguments)
            return
        self._end()
        before = self.good
        if self.stopped or before is None or before == wanted.arguments or self._start(before):
            self._tell("failed", wanted.number, wanted.arguments, why)
        else:
            self._tell("reverted", wanted.number, before, why)

    def _died(self, wanted: Wanted) -> None:
        now = time.monotonic()
        self.deaths = [t for t in self.deaths if now - t < _QUICK_S] + [now]
        arguments = self.good or wanted.arguments
        why = f"the server died: {self.folder.last_words()}"
        if len(self.deaths) >= _QUICK_DEATHS or self._start(arguments):
            self._tell("failed", wanted.number, arguments, why)
        else:
            self._tell("up" if arguments == wanted.arguments else "reverted", wanted.number, arguments, why)

    # -- the process

    def _start(self, arguments: tuple[str, ...]) -> str:
        """Empty once it is up, else why it is not."""
        server = self.server
        self.folder.turn_log()
        with self.folder.log.open("ab") as log:
            try:
                child = subprocess.Popen(
                    [*server.program, *arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **server.environment},
                    start_new_session=True,
                )
            except OSError as error:
                return f"{server.program[0]}: {error.strerror}"
        self.process = psutil.Process(child.pid)
        self._tell("starting", self.status.number if self.status else 0, arguments)
        end = time.monotonic() + server.start_s
        while time.monotonic() < end and not self.stopped:
            if child.poll() is not None:
                return f"it ended with code {child.returncode}: {self.folder.last_words()}"
            if self._serves():
                return ""
            time.sleep(EVERY_S)
        return (
            "it was told to stop" if self.stopped else f"not up after {server.start_s:g} s: {self.folder.last_words()}"
        )

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.server.url}/health", timeout=_ASK_S) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError, ValueError):
            return False

    def _runs(self) -> bool:
        try:
            return self.process is not None and self.process.is_running() and self.process.status() != "zombie"
        except psutil.Error:
            return False

    def _end(self) -> None:
        """Let it finish what is open, then end it and what it started: its own session, which nobody else is in."""
        if self.process is None or not self._runs():
            self.process = None
            return
        pid = self.process.pid
        self._signal(signal.SIGTERM, pid)
        end = time.monotonic() + self.server.drain_s
        while self._runs() and time.monotonic() < end:
            _reap(pid)
            time.sleep(EVERY_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        while self._runs():
            _reap(pid)
            time.sleep(EVERY_S)
        _reap(pid)
        self.process = None

    def _signal(self, number: int, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    # -- what is told

    def _tell(self, state: KeptState, number: int, arguments: tuple[str, ...], reason: str = "") -> None:
        self.status = self._told(state, number, arguments, reason)
        self.folder.tell(self.status)

    def _told(self, state: KeptState, number: int, arguments: tuple[str, ...], reason: str) -> Status:
        pid, created = _identity(self.process)
        keeper, keeper_created = self.me
        return Status(number, arguments, state, pid, created, keeper, keeper_created, reason, good=self.good)


def _identity(process: psutil.Process | None) -> tuple[int, float]:
    try:
        return (process.pid, process.create_time()) if process is not None else (0, 0.0)
    except psutil.Error:
        return 0, 0.0


def _reap(pid: int) -> None:
    """A child that ended stays in the table until it is asked for; one that we adopted is not ours to ask for."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def main(path: str) -> int:
    """Keep the server of the folder; a second keeper of the same folder leaves at once."""
    folder = KeptFolder(Path(path))
    server = folder.server()
    if server is None:
        print(f"{path} keeps no server", file=sys.stderr)
        return 2
    with (folder.path / "keeper.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return 0
        keeper = Keeper(folder, server)

        def stop(_number: int, _frame: FrameType | None) -> None:
            keeper.stopped = True

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the loop
        keeper.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

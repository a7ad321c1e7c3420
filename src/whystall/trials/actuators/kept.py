"""The folder of a server that a keeper keeps running: what is wanted, what is, and its logs.

::

    server.json    how it is started, the same for its whole life
    wanted.json    the arguments it should have; replaced as a whole
    status.json    the arguments it has, and how it is; written by the keeper only
    server.log     what the server wrote since its start;  keeper.log  what the keeper did
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import psutil

from whystall.errors import ChangeFailed

from .durable import write_whole

KeptState = Literal["starting", "up", "reverted", "failed", "stopped"]
S = TypeVar("S", bound=msgspec.Struct)
_SAME_START_S = 1.0  # a process of the same number that began at another time is another process


class KeptServer(msgspec.Struct, frozen=True):
    """``program`` comes before the arguments. ``environment`` is put on top of the keeper's own.

    ``start_s`` is how long a start may take, ``drain_s`` how long open requests may go on once it is told to stop.
    """

    name: str
    kind: str
    program: tuple[str, ...]
    url: str
    environment: dict[str, str] = {}
    start_s: float = 600.0
    drain_s: float = 30.0


class Wanted(msgspec.Struct, frozen=True):
    """The arguments it should run with; ``number`` goes up with each change. ``stop``: it should not run."""

    number: int
    arguments: tuple[str, ...]
    stop: bool = False


class Status(msgspec.Struct, frozen=True):
    """What the keeper last did. ``reverted``: ``number`` did not come up, and ``arguments`` are those of before.

    ``good`` are the arguments with which it last came up.
    """

    number: int
    arguments: tuple[str, ...]
    state: KeptState
    pid: int = 0
    created: float = 0.0
    keeper: int = 0
    keeper_created: float = 0.0
    reason: str = ""
    at: float = 0.0
    good: tuple[str, ...] | None = None


class KeptFolder:
    """Reading and writing of the folder's files; each is whole at any moment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "server.log"

    def server(self) -> KeptServer | None:
        """How it is started; None where the folder keeps no server."""
        return _read(self.path / "server.json", KeptServer)

    def wanted(self) -> Wanted | None:
        """What it should be; None before it was ever wanted."""
        return _read(self.path / "wanted.json", Wanted)

    def status(self) -> Status | None:
        """What it is, as the keeper last wrote; None before the keeper did anything."""
        return _read(self.path / "status.json", Status)

    def keep(self, server: KeptServer) -> None:
        """Write how it is started."""
        self._write("server.json", server)

    def want(self, arguments: tuple[str, ...], *, stop: bool = False) -> Wanted:
        """Ask for ``arguments``. The keeper sees it by itself, also when we are killed at once."""
        before = self.wanted()
        wanted = Wanted((before.number if before else 0) + 1, arguments, stop)
        self._write("wanted.json", wanted)
        return wanted

    def tell(self, status: Status) -> None:
        """Write how it is (the keeper does)."""
        self._write("status.json", msgspec.structs.replace(status, at=time.time()))

    def _write(self, name: str, noun: msgspec.Struct) -> None:
        write_whole(self.path / name, msgspec.json.encode(noun))

    def turn_log(self) -> None:
        """Each start has a log of its own; that of the start before is kept beside it."""
        with suppress(FileNotFoundError):
            self.log.replace(self.log.with_name("server.log.before"))

    def last_words(self, lines: int = 3) -> str:
        """The end of the server's log, as far as it says what went wrong."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(file.seek(0, 2) - 20_000, 0))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        said = [line.strip() for line in text.splitlines() if line.strip()]
        errors = [line for line in said if "Error" in line or "ERROR" in line]
        return " / ".join((errors or said)[-lines:])[:600]


def _read(path: Path, kind: type[S]) -> S | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ChangeFailed(f"{path} cannot be read: {error}", "It is whystall's own file; see docs/fix.md.") from error


def is_running(pid: int, created: float) -> bool:
    """Whether the process that began at ``created`` (unix seconds) with this number still runs."""
    try:
        process = psutil.Process(pid) if pid > 0 else None
        return (
            process is not None
            and abs(process.create_time() - created) < _SAME_START_S
            and process.status() != psutil.STATUS_ZOMBIE
        )
    except psutil.Error:
        return False

"""One loop a target: a lock that the system takes back when its holder dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whystall.errors import Locked, NotWritable

from .journal import key_of


@contextmanager
def locked(folder: Path, target: str) -> Iterator[None]:
    """Hold ``target`` in the state ``folder``. Raises :class:`~whystall.errors.Locked` where another process does."""
    path = folder / "locks" / f"{key_of(target)}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise NotWritable(
            f"{path} cannot be made: {error.strerror}", "Check its mode, or set XDG_STATE_HOME."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise Locked(
                f"another whystall (process {file.read().strip() or 'unknown'}) is changing {target}",
                "Wait until it has ended; two changes at once prove nothing.",
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield

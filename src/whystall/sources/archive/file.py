"""The store's file: made, opened, and its failures ours by name."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from whystall.errors import NotAStore, NotWritable, StoreDamaged, StoreLocked, StoreNewer, WhystallError

APPLICATION_ID = 0x77737741  # "wswA"
VERSION = 1
WAIT_S = 2.0
_TABLES = """
CREATE TABLE series (id INTEGER PRIMARY KEY, name TEXT NOT NULL, labels TEXT NOT NULL, UNIQUE (name, labels));
CREATE TABLE targets (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE scrapes (target INTEGER NOT NULL, t REAL NOT NULL, count INTEGER NOT NULL, ids BLOB NOT NULL,
  samples BLOB NOT NULL, PRIMARY KEY (target, t)) WITHOUT ROWID;
CREATE TABLE chunks (id INTEGER PRIMARY KEY, target INTEGER NOT NULL, start REAL NOT NULL, finish REAL NOT NULL,
  series INTEGER NOT NULL, scrapes INTEGER NOT NULL, step_s REAL NOT NULL, ids BLOB NOT NULL, times BLOB NOT NULL,
  samples BLOB NOT NULL);
CREATE INDEX chunks_by_time ON chunks (target, start);
CREATE TABLE failures (target INTEGER NOT NULL, t REAL NOT NULL, error TEXT NOT NULL);
CREATE INDEX failures_by_time ON failures (target, t);
CREATE TABLE incidents (id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, state TEXT NOT NULL, opened REAL NOT NULL,
  body BLOB NOT NULL);
CREATE TABLE habits (engine TEXT NOT NULL, hour INTEGER NOT NULL, figure TEXT NOT NULL, n REAL NOT NULL,
  mean REAL NOT NULL, spread REAL NOT NULL, PRIMARY KEY (engine, hour, figure)) WITHOUT ROWID;
"""
_MOVE = "Keep the file; give another with --store, or move it away to start a new one."


def connected(path: Path, *, write: bool = True) -> sqlite3.Connection:
    """A connection to the store at ``path``; one that writes makes it where it is not there.

    Raises :class:`~whystall.errors.NotWritable`, ``NotAStore``, ``StoreNewer``, ``StoreLocked`` or ``StoreDamaged``.
    """
    if write:
        _touch(path)
    with named_failures(path):
        # The watcher writes in its own thread only, but its end may come from another.
        mode = "rwc" if write else "ro"
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", WAIT_S, uri=True, isolation_level=None)
        try:
            _prepare(connection, path, write)
        except (sqlite3.Error, WhystallError):
            connection.close()
            raise
    return connection


def claimed(path: Path) -> IO[str]:
    """A file beside the store that only one writer can hold; the system takes it back when its holder dies.

    Two writers would number the same series twice. Raises :class:`~whystall.errors.StoreLocked` or ``NotWritable``.
    """
    lock = path.with_name(path.name + "-lock")
    try:
        file = lock.open("a+", encoding="utf-8")
    except OSError as error:
        raise NotWritable(f"{lock} cannot be made: {error.strerror}", "Give another place with --store.") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read(20).strip() or "unknown"
        file.close()
        raise StoreLocked(
            f"another whystall (process {holder}) writes to {path}",
            "Only one watcher writes to a store: give another --store.",
        ) from None
    except OSError:
        return file  # a file system without locks
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _touch(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600, exist_ok=True)  # samples name addresses and models
    except OSError as error:
        raise NotWritable(f"{path} cannot be made: {error.strerror}", "Give another place with --store.") from error


def _prepare(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    owner, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if owner != APPLICATION_ID and (owner or version or tables):
        raise NotAStore(f"{path} is another program's database", "Give the watcher's own file with --store.")
    if version > VERSION:
        raise StoreNewer(f"{path} was written by a newer whystall (store version {version})", "Update whystall.")
    if not write:
        return
    connection.execute("PRAGMA journal_mode = WAL")  # readers then never wait for us, nor we for them
    # A process that is killed loses nothing that was committed; a power cut may lose the last seconds, which is bearable.
    connection.execute("PRAGMA synchronous = NORMAL")
    if version < VERSION:
        with transaction(connection):
            for statement in filter(str.strip, _TABLES.split(";")):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing: a process that is killed inside leaves what was before."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


@contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """What SQLite raises inside, as one of our errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise _named(error, path) from error


def _named(error: sqlite3.Error, path: Path) -> WhystallError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes have more bits
    if code == sqlite3.SQLITE_FULL:
        return NotWritable(f"{path} cannot grow: the disk is full", "Free some space; whystall goes on in memory.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLocked(f"{path} is locked by another program", "Only one watcher writes to a store.")
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStore(f"{path} is no store of samples", _MOVE)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_IOERR):
        return NotWritable(f"{path} cannot be written: {error}", "Check its mode and the disk, or give --store.")
    return StoreDamaged(f"{path} is damaged: {error}", _MOVE)

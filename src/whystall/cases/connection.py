"""A connection to the store's file, whose failures are ours by name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from whystall.errors import NotAStore, NotWritable, StoreDamaged, StoreLocked, StoreNewer, WhystallError

from .migrations import APPLICATION_ID, MIGRATIONS, VERSION

WAIT_S = 5.0  # for another writer, whose transaction takes milliseconds
_KEEP = "Keep the file; give another with --store, or restore a copy."


def connected(path: Path, wait_s: float = WAIT_S) -> sqlite3.Connection:
    """A connection to the store at ``path``, which is made where it is not there, and brought up to date.

    Raises :class:`~whystall.errors.NotAStore`, ``StoreNewer``, ``StoreDamaged``, ``StoreLocked`` or ``NotWritable``.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600, exist_ok=True)  # a case names addresses and models
    except OSError as error:
        raise NotWritable(f"{path} cannot be made: {error.strerror}", "Give another place with --store.") from error
    with named_failures(path):
        return _prepared(sqlite3.connect(path, timeout=wait_s, isolation_level=None), path)


def in_memory() -> sqlite3.Connection:
    """An empty store without a file."""
    return _prepared(sqlite3.connect(":memory:", isolation_level=None), Path(":memory:"))


@contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """What SQLite raises inside, as one of our errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise _named(error, path) from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing: a process that is killed inside leaves what was before."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")


def _named(error: sqlite3.Error, path: Path) -> WhystallError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # extended codes have more bits
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreLocked(f"{path} is locked by another program", "Try again once that has ended.")
    if code == sqlite3.SQLITE_NOTADB:
        return NotAStore(f"{path} is no store of cases", _KEEP)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM):
        return NotWritable(f"{path} cannot be written: {error}", "Check its mode and the disk, or give --store.")
    return StoreDamaged(f"{path} is damaged: {error}", _KEEP)


def _prepared(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        _prepare(connection, path)
    except (sqlite3.Error, WhystallError):
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN")  # so that what the header says and the tables are of one moment
    try:
        found = _version(connection, path)
    finally:
        connection.execute("ROLLBACK")
    if found < VERSION:
        with transaction(connection):
            _migrate(connection, _version(connection, path))  # asked again: another process may have been faster
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = FULL")  # what was reported as kept must survive a power cut


def _write_ahead(connection: sqlite3.Connection) -> None:
    """A reader then never waits for a writer. It stays so once it is set; while others use a new file, it cannot be."""
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    owner, version = _pragma(connection, "application_id"), _pragma(connection, "user_version")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or tables):
        raise NotAStore(f"{path} is another program's database", "Give the store's file with --store.")
    if version > VERSION:
        raise StoreNewer(
            f"{path} was written by a newer whystall (store version {version}; this one knows {VERSION})",
            "Update whystall, or give another file with --store.",
        )
    return version


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _migrate(connection: sqlite3.Connection, found: int) -> None:
    for script in MIGRATIONS[found:]:
        for statement in _statements(script):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _statements(script: str) -> Iterator[str]:
    # Not executescript: it commits first, and a migration is one transaction.
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""

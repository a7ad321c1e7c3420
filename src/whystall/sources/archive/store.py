"""An open store. Each scrape is a row at once; a hundred and twenty of them are then sealed into one chunk of columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec
import numpy as np

from whystall.errors import StoreDamaged, WhystallError
from whystall.model.case import both_languages
from whystall.model.incident import Incident
from whystall.model.recording import FailedScrape, Floats, SeriesKey, SeriesTable
from whystall.model.text import decode_hook
from whystall.sources.exposition import Page

from .columns import Ids, pack, pack_ids, pack_times, unpack, unpack_ids, unpack_times
from .file import claimed, connected, named_failures, transaction

SEAL = 120  # scrapes: ten minutes at 5 s. A chunk's columns compress five times as well as its rows
MOST_SERIES = 1_000_000  # of all targets; labels that never repeat must not fill the disk with names


class Habit(msgspec.Struct, frozen=True):
    """What a figure was at one hour of the week: ``n`` looks, their mean, and the sum of squares around it."""

    n: float
    mean: float
    spread: float


class Archive:
    """The store at one path. One process writes, any number read; a writer that is killed loses nothing that it wrote.

    Every method raises :class:`~whystall.errors.NotWritable` (a full disk among others), ``StoreLocked`` or
    ``StoreDamaged``.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, claim: IO[str] | None = None) -> None:
        self.path = path
        self._claim = claim
        self.left_out = 0  # samples of series beyond MOST_SERIES
        self._connection = connection
        self._series: dict[SeriesKey, int] | None = None
        self._places: dict[str, tuple[Sequence[SeriesKey], Ids]] = {}  # by target: its keys' numbers in the store
        self._targets: dict[str, int] = {}
        self._unsealed: dict[int, int] = {}

    @classmethod
    def open(cls, path: Path) -> Archive:
        """The store at ``path`` for writing, made where it is not there. Raises NotAStore, StoreNewer and the others."""
        connection = connected(path)
        try:
            return cls(connection, path, claimed(path))
        except WhystallError:
            connection.close()
            raise

    @classmethod
    def read(cls, path: Path) -> Archive:
        """The store at ``path`` for reading, while another process may write to it."""
        return cls(connected(path, write=False), path)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        if self._claim is not None:
            self._claim.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- samples

    def add(self, target: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> None:
        """Keep one page. ``keys`` is what its ids point into, and may have grown since the page before."""
        with named_failures(self.path):
            try:
                number = self._add(target, t, page, keys)
            except sqlite3.Error:
                self._forget_unwritten()
                raise
            self._unsealed[number] = self._unsealed.get(number, 0) + 1
            if self._unsealed[number] >= SEAL:
                self._seal(number)

    def _add(self, target: str, t: float, page: Page, keys: Sequence[SeriesKey]) -> int:
        with transaction(self._connection):
            number = self._target(target)
            ids = self._numbers(target, keys)[page.ids]
            known = ids >= 0
            self.left_out += len(ids) - int(known.sum())
            row = (number, t, int(known.sum()), pack_ids(ids[known]), pack(page.values[known][None, :].T))
            self._connection.execute("INSERT OR REPLACE INTO scrapes VALUES (?, ?, ?, ?, ?)", row)
        return number

    def fail(self, target: str, t: float, error: str) -> None:
        """Keep that a scrape gave no page."""
        with named_failures(self.path), transaction(self._connection):
            self._connection.execute("INSERT INTO failures VALUES (?, ?, ?)", (self._target(target), t, error[:200]))

    def _target(self, name: str) -> int:
        known = self._targets.get(name)
        if known is None:
            self._connection.execute("INSERT OR IGNORE INTO targets (name) VALUES (?)", (name,))
            known = int(self._connection.execute("SELECT id FROM targets WHERE name = ?", (name,)).fetchone()[0])
            self._targets[name] = known
            count = self._connection.execute("SELECT count(*) FROM scrapes WHERE target = ?", (known,)).fetchone()[0]
            self._unsealed[known] = int(count)
        return known

    def _numbers(self, target: str, keys: Sequence[SeriesKey]) -> Ids:
        known = self._places.get(target)
        old = known[1] if known is not None and known[0] is keys else np.zeros(0, dtype=np.int64)
        if len(old) < len(keys):
            new = [self._number(key) for key in keys[len(old) :]]
            old = np.concatenate((old, np.array(new, dtype=np.int64)))
            self._places[target] = (keys, old)
        return old

    def _number(self, key: SeriesKey) -> int:
        if self._series is None:
            rows = self._connection.execute("SELECT id, name, labels FROM series").fetchall()
            self._series = {_key(name, labels): int(number) for number, name, labels in rows}
        number = self._series.get(key)
        if number is None and len(self._series) < MOST_SERIES:
            labels = msgspec.json.encode(key.labels).decode()
            cursor = self._connection.execute("INSERT INTO series (name, labels) VALUES (?, ?)", (key.name, labels))
            number = self._series[key] = int(cursor.lastrowid or 0)
        return -1 if number is None else number

    def _forget_unwritten(self) -> None:
        """After a failure: what was noted in memory of a transaction that was rolled back is no more."""
        self._series = None
        self._places.clear()
        self._targets.clear()

    def _seal(self, target: int) -> None:
        """The target's rows become a chunk, in one transaction."""
        rows = self._connection.execute(
            "SELECT t, count, ids, samples FROM scrapes WHERE target = ? ORDER BY t", (target,)
        ).fetchall()
        times, ids, values = _columns(rows)
        with transaction(self._connection):
            self._write_chunk(target, times, ids, values, 0.0)
            self._connection.execute("DELETE FROM scrapes WHERE target = ?", (target,))
        self._unsealed[target] = 0

    def _write_chunk(self, target: int, times: Floats, ids: Ids, values: Floats, step_s: float) -> None:
        self._connection.execute(
            "INSERT INTO chunks (target, start, finish, series, scrapes, step_s, ids, times, samples) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                target,
                float(times[0]),
                float(times[-1]),
                len(ids),
                len(times),
                step_s,
                pack_ids(ids),
                pack_times(times),
                pack(values),
            ),
        )

    def targets(self) -> list[str]:
        """The names of all targets that were ever kept."""
        with named_failures(self.path):
            return [row[0] for row in self._connection.execute("SELECT name FROM targets ORDER BY name")]

    def table(self, target: str, start: float, end: float) -> SeriesTable:
        """The samples of ``target`` from ``start`` to ``end`` (unix seconds), sealed or not; empty where there are none."""
        with named_failures(self.path), _snapshot(self._connection):
            number = self._connection.execute("SELECT id FROM targets WHERE name = ?", (target,)).fetchone()
            if number is None:
                return SeriesTable.empty()
            parts = self._parts(int(number[0]), start, end)
            names = {part for _, ids, _ in parts for part in ids.tolist()}
            keys = {n: self._key_of(n) for n in sorted(names)}
            failed = self._connection.execute(
                "SELECT t, error FROM failures WHERE target = ? AND t BETWEEN ? AND ? ORDER BY t",
                (number[0], start, end),
            ).fetchall()
        return _table(parts, keys, tuple(FailedScrape(t, error) for t, error in failed), start, end)

    def _parts(self, target: int, start: float, end: float) -> list[tuple[Floats, Ids, Floats]]:
        sealed = self._connection.execute(
            "SELECT series, scrapes, ids, times, samples FROM chunks WHERE target = ? AND start <= ? AND finish >= ? "
            "ORDER BY start",
            (target, end, start),
        )
        parts = [(unpack_times(t, n), unpack_ids(ids, k), unpack(data, k, n)) for k, n, ids, t, data in sealed]
        rows = self._connection.execute(
            "SELECT t, count, ids, samples FROM scrapes WHERE target = ? AND t BETWEEN ? AND ? ORDER BY t",
            (target, start, end),
        ).fetchall()
        return [*parts, _columns(rows)] if rows else parts

    def _key_of(self, number: int) -> SeriesKey:
        row = self._connection.execute("SELECT name, labels FROM series WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise StoreDamaged(f"{self.path} has samples of a series that it does not name", "Keep the file.")
        return _key(*row)

    # -- age

    def age(self, now: float, keep_s: float, full_s: float, step_s: float = 10.0) -> int:
        """Let go of what is older than ``keep_s``, and thin what is older than ``full_s`` to a scrape in ``step_s``.

        Counters and histograms are cumulative, so a thinned one lacks no event; the number of chunks that changed.
        """
        with named_failures(self.path), transaction(self._connection):
            gone = self._connection.execute("DELETE FROM chunks WHERE finish < ?", (now - keep_s,)).rowcount
            self._connection.execute("DELETE FROM scrapes WHERE t < ?", (now - keep_s,))
            self._connection.execute("DELETE FROM failures WHERE t < ?", (now - keep_s,))
            old = self._connection.execute(
                "SELECT id, target, series, scrapes, ids, times, samples FROM chunks WHERE finish < ? AND step_s = 0",
                (now - full_s,),
            ).fetchall()
            for id, target, k, n, ids, t, data in old:
                self._thin(id, target, unpack_times(t, n), unpack_ids(ids, k), unpack(data, k, n), step_s)
        return gone + len(old)

    def _thin(self, id: int, target: int, times: Floats, ids: Ids, values: Floats, step_s: float) -> None:
        slots = np.floor(times / step_s)
        last = np.concatenate(
            (slots[1:] != slots[:-1], [True])
        )  # the last of each slot: counters then end where they did
        self._connection.execute("DELETE FROM chunks WHERE id = ?", (id,))
        self._write_chunk(target, times[last], ids, values[:, last], step_s)

    # -- incidents

    def write_incident(self, incident: Incident) -> int:
        """Keep ``incident`` under its id; its id."""
        body = msgspec.json.encode(incident, enc_hook=both_languages)
        row = (incident.id or None, incident.uid, incident.state, incident.opened, body)
        with named_failures(self.path), transaction(self._connection):
            cursor = self._connection.execute("INSERT OR REPLACE INTO incidents VALUES (?, ?, ?, ?, ?)", row)
        return int(cursor.lastrowid or 0)

    def incidents(self, limit: int) -> list[Incident]:
        """The newest, the newest first."""
        with named_failures(self.path):
            rows = self._connection.execute("SELECT body FROM incidents ORDER BY id DESC LIMIT ?", (limit,)).fetchall()
        try:
            return [msgspec.json.decode(body, type=Incident, dec_hook=decode_hook) for (body,) in rows]
        except (msgspec.DecodeError, TypeError) as error:
            raise StoreDamaged(f"an incident in {self.path} cannot be read: {error}", "Keep the file.") from error

    # -- habits

    def habits(self, engine: str) -> dict[tuple[int, str], Habit]:
        """What was usual of ``engine``, by hour of the week (0 is Monday 0 h UTC) and figure."""
        with named_failures(self.path):
            rows = self._connection.execute(
                "SELECT hour, figure, n, mean, spread FROM habits WHERE engine = ?", (engine,)
            ).fetchall()
        return {(hour, figure): Habit(n, mean, spread) for hour, figure, n, mean, spread in rows}

    def write_habit(self, engine: str, hour: int, figure: str, habit: Habit) -> None:
        """Keep what is usual now."""
        row = (engine, hour, figure, habit.n, habit.mean, habit.spread)
        with named_failures(self.path), transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO habits VALUES (?, ?, ?, ?, ?, ?)", row)


class _snapshot:
    """All reads inside see one moment: a writer may seal a chunk in between."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN")

    def __exit__(self, *_error: object) -> None:
        self._connection.execute("ROLLBACK")


def _key(name: str, labels: str) -> SeriesKey:
    return SeriesKey(name, tuple((k, v) for k, v in msgspec.json.decode(labels, type=list[tuple[str, str]])))


def _columns(rows: list[tuple[float, int, bytes, bytes]]) -> tuple[Floats, Ids, Floats]:
    """Rows of single scrapes as columns over all series that one of them has."""
    pages = [(unpack_ids(ids, count), unpack(data, count, 1)[:, 0]) for _, count, ids, data in rows]
    ids = np.unique(np.concatenate([ids for ids, _ in pages])) if pages else np.zeros(0, dtype=np.int64)
    values = np.full((len(ids), len(rows)), np.nan)
    for place, (seen, samples) in enumerate(pages):
        values[np.searchsorted(ids, seen), place] = samples
    return np.array([row[0] for row in rows]), ids, values


def _table(
    parts: list[tuple[Floats, Ids, Floats]],
    keys: dict[int, SeriesKey],
    failed: tuple[FailedScrape, ...],
    start: float,
    end: float,
) -> SeriesTable:
    order = {number: place for place, number in enumerate(keys)}
    times = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0)
    values = np.full((len(keys), len(times)), np.nan)
    at = 0
    for moments, ids, samples in parts:
        places = np.array([order[number] for number in ids.tolist()], dtype=np.int64)
        values[places, at : at + len(moments)] = samples
        at += len(moments)
    inside = (times >= start) & (times <= end)
    return SeriesTable(times[inside], tuple(keys.values()), values[:, inside], failed=failed)

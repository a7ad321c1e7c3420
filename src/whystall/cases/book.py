"""The book of cases: a SQLite file that survives being killed and may be read by a second process meanwhile."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import msgspec

from whystall.errors import InputError, NoSuchCase, StoreDamaged, TooLarge
from whystall.model.case import Case, CaseNote, CaseOutcome, CaseSummary, both_languages, summary_of
from whystall.model.text import decode_hook

from .connection import WAIT_S, connected, in_memory, named_failures, transaction

MAX_CASE_BYTES = 8_000_000  # a diagnosis with all its evidence takes some 60 kB
LONGEST_NOTE = 10_000  # characters
T = TypeVar("T", bound=msgspec.Struct)


class Book:
    """An open store. Every change is one transaction. Use it as a context, or :meth:`close` it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    @classmethod
    def open(cls, path: Path, wait_s: float = WAIT_S) -> Book:
        """The store at ``path``, made where it is not there, brought up to date where it is an older version's.

        Raises :class:`~whystall.errors.NotAStore`, ``StoreNewer``, ``StoreDamaged``, ``StoreLocked`` (after ``wait_s``
        seconds) or ``NotWritable``; the other methods raise the last three.
        """
        return cls(connected(path, wait_s), path)

    @classmethod
    def read(cls, path: Path) -> Book:
        """The store at ``path`` for reading; an empty book where there is no file, and none is made."""
        return cls.open(path) if path.exists() else cls(in_memory(), path)

    @classmethod
    def empty(cls) -> Book:
        """A book in memory."""
        return cls(in_memory(), Path(":memory:"))

    def close(self) -> None:
        """Close the file. Closing twice does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, case: Case) -> Case:
        """Keep a new case; what comes back has its ``id``, and a ``uid`` where it had none.

        Raises :class:`~whystall.errors.InputError` where it cannot be written as JSON, or its uid is here already.
        """
        case = msgspec.structs.replace(case, uid=case.uid or uuid.uuid4().hex)
        _encoded(case)
        with named_failures(self.path), transaction(self._connection):
            if self._connection.execute("SELECT 1 FROM cases WHERE uid = ?", (case.uid,)).fetchone():
                raise InputError(f"case {case.uid} is in {self.path} already", "Update it instead.")
            cursor = self._connection.execute(
                "INSERT INTO cases (uid, opened, outcome, summary, body) VALUES (?, ?, ?, '', '')",
                (case.uid, case.opened, case.outcome),
            )
            assert cursor.lastrowid is not None
            case = msgspec.structs.replace(case, id=cursor.lastrowid)
            self._write(case)
        return case

    def update(self, case: Case) -> Case:
        """Write a case that is here over itself, by its ``id``. Notes are only ever added, so those here are kept.

        Raises :class:`~whystall.errors.NoSuchCase` where it is not here.
        """
        with named_failures(self.path), transaction(self._connection):
            here = self.case(case.id)
            notes = sorted({*here.notes, *case.notes}, key=lambda note: note.at)
            case = msgspec.structs.replace(case, uid=here.uid, notes=tuple(notes))
            self._write(case)
        return case

    def note(self, id: int, text: str, at: float) -> Case:
        """Add what a person wrote to case ``id``. Raises NoSuchCase, or TooLarge over ``LONGEST_NOTE`` characters."""
        if len(text) > LONGEST_NOTE:
            raise TooLarge(f"a note of {len(text):,} characters is too long", f"At most {LONGEST_NOTE:,}.")
        with named_failures(self.path), transaction(self._connection):
            here = self.case(id)
            case = msgspec.structs.replace(here, notes=(*here.notes, CaseNote(at, text)))
            self._write(case)
        return case

    def case(self, id: int) -> Case:
        """Case ``id`` in full. Raises :class:`~whystall.errors.NoSuchCase` where it is not here."""
        with named_failures(self.path):
            row = self._connection.execute("SELECT body FROM cases WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise NoSuchCase(f"there is no case {id} in {self.path}", "whystall cases list shows those that there are.")
        return self._decoded(row[0], Case, id)

    def find(self, uid: str) -> int | None:
        """The id of the case with this uid; None where it is not here."""
        with named_failures(self.path):
            row = self._connection.execute("SELECT id FROM cases WHERE uid = ?", (uid,)).fetchone()
        return row[0] if row else None

    def cases(self) -> list[Case]:
        """All cases in full, the oldest first."""
        with named_failures(self.path):
            rows = self._connection.execute("SELECT id, body FROM cases ORDER BY id").fetchall()
        return [self._decoded(body, Case, id) for id, body in rows]

    def summaries(self, outcome: CaseOutcome | None = None, limit: int = 1_000_000) -> list[CaseSummary]:
        """What a list needs of the cases, the newest first; only those of ``outcome`` where one is given."""
        where, values = ("WHERE outcome = ?", (outcome,)) if outcome else ("", ())
        query = f"SELECT id, summary FROM cases {where} ORDER BY opened DESC, id DESC LIMIT ?"
        with named_failures(self.path):
            rows = self._connection.execute(query, (*values, limit)).fetchall()
        return [self._decoded(body, CaseSummary, id) for id, body in rows]

    def take_in(self, cases: Iterable[Case]) -> tuple[list[Case], int]:
        """Add cases of another book under new ids; those that are here by their uid are left. Returns (added, left)."""
        added, left = [], 0
        known = self._uids()
        for case in cases:
            if case.uid in known:
                left += 1
                continue
            added.append(self.add(msgspec.structs.replace(case, id=0)))
            known.add(added[-1].uid)
        return added, left

    def _uids(self) -> set[str]:
        with named_failures(self.path):
            return {row[0] for row in self._connection.execute("SELECT uid FROM cases")}

    def _write(self, case: Case) -> None:
        summary = msgspec.json.encode(summary_of(case), enc_hook=both_languages)
        self._connection.execute(
            "UPDATE cases SET opened = ?, outcome = ?, summary = ?, body = ? WHERE id = ?",
            (case.opened, case.outcome, summary, _encoded(case), case.id),
        )

    def _decoded(self, body: bytes, kind: type[T], id: int) -> T:
        try:
            return msgspec.json.decode(body, type=kind, dec_hook=decode_hook)
        except (msgspec.DecodeError, TypeError) as error:
            raise StoreDamaged(
                f"case {id} in {self.path} cannot be read: {error}", "Keep the file, and restore a copy."
            ) from error


def _encoded(case: Case) -> bytes:
    """The case as JSON, tried: a NaN becomes null, which is no number when it is read back. Better refused than damaged."""
    body = msgspec.json.encode(msgspec.structs.replace(case, wording=None), enc_hook=both_languages)
    if len(body) > MAX_CASE_BYTES:
        raise TooLarge(f"the case takes {len(body):,} bytes, over {MAX_CASE_BYTES:,}", "Keep less evidence in it.")
    try:
        msgspec.json.decode(body, type=Case, dec_hook=decode_hook)
    except msgspec.DecodeError as error:
        raise InputError(f"the case cannot be kept: {error}", "Every number in it must be finite.") from error
    return body

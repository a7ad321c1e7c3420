from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from kept_cases import START, closed_case, open_case
from whystall.cases import connection, migrations
from whystall.cases.book import Book
from whystall.errors import (
    InputError,
    NoSuchCase,
    NotAStore,
    NotWritable,
    StoreDamaged,
    StoreLocked,
    StoreNewer,
    TooLarge,
)
from whystall.model.case import CaseNote, diagnosis_of

SOURCE = Path(__file__).resolve().parents[3] / "src"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "cases.sqlite"


def test_a_case_comes_back_whole_in_another_process_s_book(path):
    with Book.open(path) as book:
        kept = book.add(open_case())
    with Book.open(path) as book:
        assert book.case(kept.id) == kept
    assert kept.id == 1
    assert len(kept.uid) == 32
    assert diagnosis_of(kept.diagnosis).headline.zh == "KV 块耗尽"


def test_an_update_writes_over_and_keeps_the_notes_that_it_does_not_know(path):
    with Book.open(path) as book:
        first = book.add(open_case())
        book.note(first.id, "the new tenant came at noon", START + 70)
        book.update(msgspec.structs.replace(first, outcome="recovered", closed=START + 90))
        here = book.case(first.id)
    assert (here.outcome, here.closed) == ("recovered", START + 90)
    assert here.notes == (CaseNote(START + 70, "the new tenant came at noon"),)


def test_the_newest_comes_first_in_a_list(path):
    with Book.open(path) as book:
        book.add(open_case())
        book.add(closed_case(opened=START + 5000))
        assert [one.id for one in book.summaries()] == [2, 1]
        assert [one.id for one in book.summaries("open")] == [1]
        assert [one.id for one in book.summaries(limit=1)] == [2]


def test_an_id_is_never_given_twice(path):
    with Book.open(path) as book:
        book.add(open_case())
        book._connection.execute("DELETE FROM cases")
        assert book.add(open_case()).id == 2


def test_cases_of_another_book_are_added_once(path):
    with Book.empty() as other, Book.open(path) as book:
        other.add(open_case())
        there = [other.add(closed_case())]
        book.add(open_case())
        added, left = book.take_in([*there, *there])
        assert ([one.id for one in added], left) == ([2], 1)
        assert book.take_in(there) == ([], 1)


def test_a_case_that_is_not_there(path):
    with Book.open(path) as book:
        with pytest.raises(NoSuchCase, match="no case 7"):
            book.case(7)
        with pytest.raises(NoSuchCase):
            book.update(msgspec.structs.replace(open_case(), id=7))


def test_what_could_not_be_read_back_is_not_kept(path):
    with Book.open(path) as book:
        with pytest.raises(InputError, match="cannot be kept"):
            book.add(msgspec.structs.replace(open_case(), opened=float("nan")))
        with pytest.raises(TooLarge):
            book.note(book.add(open_case()).id, "x" * 10_001, START)
        assert len(book.cases()) == 1


def test_reading_makes_no_file(path):
    with Book.read(path) as book:
        assert book.summaries() == []
    assert not path.exists()


def test_a_file_that_is_no_database(path):
    path.parent.mkdir()
    path.write_bytes(b"not a database, but longer than a header" * 50)
    with pytest.raises(NotAStore):
        Book.open(path)


def test_another_program_s_database_is_left_alone(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="another program"):
        Book.open(path)
    assert path.read_bytes() == before


def test_a_newer_version_s_store(path):
    with Book.open(path) as book:
        book._connection.execute(f"PRAGMA user_version = {migrations.VERSION + 1}")
    with pytest.raises(StoreNewer, match=f"version {migrations.VERSION + 1}"):
        Book.open(path)


def test_damaged_pages(path):
    with Book.open(path) as book:
        for _ in range(20):
            book.add(open_case())
    body = bytearray(path.read_bytes())
    body[4096:] = b"\xa5" * (len(body) - 4096)
    path.write_bytes(bytes(body))
    with pytest.raises(StoreDamaged), Book.open(path) as book:
        book.cases()


def test_a_damaged_case_is_named(path):
    with Book.open(path) as book:
        book.add(open_case())
        book._connection.execute("UPDATE cases SET body = '{\"target\": 7}'")
        with pytest.raises(StoreDamaged, match="case 1 in"):
            book.case(1)


def test_a_writer_that_does_not_end(path):
    with Book.open(path) as other, Book.open(path, wait_s=0.01) as book:
        other._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked):
            book.add(open_case())
        assert book.summaries() == []  # reading does not wait


def test_a_folder_cannot_be_a_store(tmp_path):
    with pytest.raises(NotWritable):
        Book.open(tmp_path)


def test_only_the_user_may_read_it(path):
    Book.open(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_an_older_store_is_brought_up_to_date(path, monkeypatch):
    with Book.open(path) as book:
        book.add(open_case())
    script = "ALTER TABLE cases ADD COLUMN team TEXT NOT NULL DEFAULT 'ops';\nCREATE INDEX teams ON cases (team);"
    monkeypatch.setattr(connection, "MIGRATIONS", (*migrations.MIGRATIONS, script))
    monkeypatch.setattr(connection, "VERSION", migrations.VERSION + 1)
    with Book.open(path) as book:
        assert book._connection.execute("SELECT team FROM cases").fetchall() == [("ops",)]
        assert book.case(1).target == open_case().target


def test_a_migration_that_fails_changes_nothing(path, monkeypatch):
    Book.open(path).close()
    script = "ALTER TABLE cases ADD COLUMN team TEXT;\nINSERT INTO nowhere VALUES (1);"
    monkeypatch.setattr(connection, "MIGRATIONS", (*migrations.MIGRATIONS, script))
    monkeypatch.setattr(connection, "VERSION", migrations.VERSION + 1)
    with pytest.raises(StoreDamaged):
        Book.open(path)
    monkeypatch.undo()
    with Book.open(path) as book:
        columns = {row[1] for row in book._connection.execute("PRAGMA table_info(cases)")}
    assert "team" not in columns


WRITER = """
import sys
from pathlib import Path
from kept_cases import open_case
from whystall.cases.book import Book
with Book.open(Path(sys.argv[1])) as book:
    while True:
        print(book.add(open_case()).id, flush=True)
"""


def writer(path: Path) -> subprocess.Popen[str]:
    paths = f"{SOURCE}:{SOURCE.parent / 'tests'}"
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": paths}
    )


def test_what_was_reported_as_kept_outlives_a_kill(path):
    for _ in range(3):
        process = writer(path)
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(4)]
        process.kill()
        rest = process.stdout.read().splitlines()
        process.wait()
        with Book.open(path) as book:
            ids = {one.id for one in book.cases()}
            assert book._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert {*told, *map(int, rest)} <= ids


def test_a_second_process_reads_while_one_writes(path):
    process = writer(path)
    assert process.stdout is not None
    try:
        first = int(process.stdout.readline())
        with Book.open(path) as book:
            assert len(book.cases()) >= first
            told = [int(process.stdout.readline()) for _ in range(3)]  # it may be further on than what was read here
            assert len(book.cases()) >= told[-1] == first + 3
            assert process.poll() is None
    finally:
        process.kill()
        process.communicate()


def test_two_that_make_the_store_at_once(path):
    def add(_: int) -> int:
        with Book.open(path) as book:
            return book.add(open_case()).id

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(add, range(16))) == list(range(1, 17))

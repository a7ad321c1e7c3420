import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kept_incidents import INCIDENT
from whystall.errors import NotAStore, NotWritable, StoreDamaged, StoreLocked, StoreNewer
from whystall.sources.archive import store as module
from whystall.sources.archive.file import connected
from whystall.sources.archive.store import SEAL, Archive, Habit
from whystall.sources.exposition import PageParser


def fill(archive: Archive, count: int, target: str = "a", start: int = 0, text: str = 'a {n}\nb{{x="1"}} 2\n') -> None:
    parser = PageParser()
    for n in range(start, start + count):
        archive.add(target, float(n), parser.parse(text.format(n=n).encode()), parser.keys)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "watch.sqlite"


def test_what_is_kept_comes_back_sealed_or_not(path):
    with Archive.open(path) as archive:
        fill(archive, SEAL + 7)
        archive.fail("a", 500.0, "Unreachable")
        table = archive.table("a", 100, 1000)
    assert table.times.tolist() == list(range(100, SEAL + 7))
    assert table.values[[key.name for key in table.keys].index("a")].tolist() == table.times.tolist()
    assert table.keys[1].labels == (("x", "1"),)
    assert [failed.error for failed in table.failed] == ["Unreachable"]


def test_a_second_process_may_read_while_the_first_writes(path):
    with Archive.open(path) as writer, Archive.read(path) as reader:
        fill(writer, 5)
        assert len(reader.table("a", 0, 100).times) == 5
        fill(writer, SEAL, start=5)
        assert len(reader.table("a", 0, 1000).times) == SEAL + 5
        assert reader.targets() == ["a"]


def test_one_process_writes_and_another_that_would_is_refused_by_name(path):
    with Archive.open(path):
        with pytest.raises(StoreLocked, match=rf"process {os.getpid()}\) writes to"):
            Archive.open(path)
        with Archive.read(path):
            pass
    with Archive.open(path) as again:  # who is gone holds nothing
        fill(again, 1)


def test_after_a_restart_it_goes_on_with_the_same_series(path):
    for start in (0, 10):
        with Archive.open(path) as archive:
            fill(archive, 10, start=start)
            assert len(archive.table("a", 0, 100).keys) == 2


def test_series_that_come_and_go_have_holes(path):
    with Archive.open(path) as archive:
        fill(archive, 2)
        fill(archive, 2, start=2, text="c {n}\n")
        table = archive.table("a", 0, 10)
    assert np.isnan(table.values).sum() == 6


def test_kill_9_loses_at_most_the_last_scrape(path):
    script = textwrap.dedent("""
        import sys
        from pathlib import Path
        from whystall.sources.archive.store import Archive
        from whystall.sources.exposition import PageParser
        archive, parser, n = Archive.open(Path(sys.argv[1])), PageParser(), 0
        while True:
            archive.add("a", float(n), parser.parse(f"a {n}\\n".encode()), parser.keys)
            n += 1
            print(n, flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, env=dict(os.environ))
    lines = [int(process.stdout.readline()) for _ in range(SEAL + 20)]
    process.send_signal(signal.SIGKILL)
    written = max([lines[-1], *(int(line) for line in process.stdout.read().split(b"\n") if line.strip())])
    process.wait()
    with Archive.read(path) as archive:
        times = archive.table("a", 0, 1e9).times
    assert written <= len(times) <= written + 1
    assert times.tolist() == list(range(len(times)))


def test_a_full_disk_is_named_and_what_was_there_stays(path):
    with Archive.open(path) as archive:
        fill(archive, 3)
        pages = archive._connection.execute("PRAGMA page_count").fetchone()[0]
        archive._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(NotWritable, match="disk is full"):
            fill(archive, 1000, start=3, text="new_series_{n} 1\n")
        archive._connection.execute("PRAGMA max_page_count = 100000")
        fill(archive, 3, start=2000, text="new_series_{n} 1\n")
        table = archive.table("a", 0, 1e9)
    assert table.times[:3].tolist() == [0, 1, 2]
    assert [key.name for key in table.keys][-3:] == ["new_series_2000", "new_series_2001", "new_series_2002"]


def test_what_is_old_is_thinned_and_then_goes(path):
    with Archive.open(path) as archive:
        fill(archive, SEAL)
        before = archive.table("a", 0, 1e9)
        assert archive.age(now=1000.0, keep_s=1e6, full_s=500.0) == 1
        thinned = archive.table("a", 0, 1e9)
        assert thinned.times.tolist() == [9, 19, 29, 39, 49, 59, 69, 79, 89, 99, 109, 119]
        assert thinned.values[0, -1] - thinned.values[0, 0] == before.values[0, -1] - before.values[0, 9]
        assert archive.age(now=1000.0, keep_s=1e6, full_s=500.0) == 0
        archive.age(now=1e7, keep_s=1e6, full_s=500.0)
        assert len(archive.table("a", 0, 1e9).times) == 0


def test_labels_that_never_repeat_do_not_fill_the_store(path, monkeypatch):
    monkeypatch.setattr(module, "MOST_SERIES", 5)
    with Archive.open(path) as archive:
        fill(archive, 20, text="series_{n} 1\n")
        assert archive.left_out == 15
        assert len(archive.table("a", 0, 100).keys) == 5


def test_incidents_and_habits(path):
    with Archive.open(path) as archive:
        archive.write_incident(INCIDENT)
        archive.write_incident(replace(INCIDENT, state="recovered", recovered=5.0))
        archive.write_incident(replace(INCIDENT, id=2, uid="v"))
        archive.write_habit("a", 3, "itl_s", Habit(2.0, 0.01, 0.0))
    with Archive.read(path) as archive:
        newest, oldest = archive.incidents(10)
        assert (newest.id, oldest.state, oldest.headline.zh) == (2, "recovered", "满")
        assert archive.habits("a") == {(3, "itl_s"): Habit(2.0, 0.01, 0.0)}


def test_what_is_no_store_is_refused_by_name(path, tmp_path):
    path.write_bytes(b"this is not a database, and long enough to be looked at" * 20)
    with pytest.raises(NotAStore):
        Archive.open(path)
    from whystall.cases.book import Book

    other = tmp_path / "cases.sqlite"
    Book.open(other).close()
    with pytest.raises(NotAStore, match="another program"):
        Archive.open(other)


def test_a_newer_store_and_a_damaged_one_are_refused_by_name(path):
    connection = connected(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreNewer):
        Archive.open(path)
    other = path.with_name("b.sqlite")
    with Archive.open(other) as archive:
        fill(archive, SEAL)
        archive._connection.execute("UPDATE chunks SET samples = x'00'")
        with pytest.raises(StoreDamaged):
            archive.table("a", 0, 1000)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable):
        Archive.open(tmp_path / "file" / "watch.sqlite")

"""The journal outlives a crash in the middle of a line, and says which change is open."""

from __future__ import annotations

from pathlib import Path

import msgspec

from whystall.model.change import Change
from whystall.trials.journal import Journal, journals, key_of


def change(id: str = "c1", case: int = 0) -> Change:
    return Change(id, "process:x", "process", {"--max-num-seqs": "8"}, (), (), "run", "run back", "digest", case=case)


def test_the_last_state_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "process:x")
    assert (journal.open(), journal.changes(), journal.kept()) == (None, [], None)
    applying = journal.write(change(), "applying")
    assert journal.open() == applying
    kept = journal.write(applying, "kept", "a WIN")
    assert journal.open() is None
    assert (kept.reason, journal.kept(), journal.changes()) == ("a WIN", kept, [kept])


def test_half_a_line_is_no_line_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "process:x")
    first = journal.write(change(), "applying")
    with journal.path.open("ab") as file:
        file.write(msgspec.json.encode(first)[:40])
    assert journal.open() == first
    second = journal.write(first, "applied")
    assert journal.changes() == [second]


def test_journals_are_told_apart_and_found_again(tmp_path: Path) -> None:
    one, two = Journal(tmp_path, "process:x"), Journal(tmp_path, "kubernetes:/a/very/long/path" * 9)
    one.write(change(case=3), "kept")
    two.write(msgspec.structs.replace(change("c2"), target=two.target), "kept")
    assert {journal.target for journal in journals(tmp_path)} == {one.target, two.target}
    assert one.kept(3) is not None
    assert one.kept(4) is None
    assert len(key_of(two.target)) < 60


def test_the_file_is_private(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "process:x")
    journal.write(change(), "applying")
    assert journal.path.parent.stat().st_mode & 0o077 == 0

"""Which cases are looked at again, and when one came back."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kept_cases import START, closed_case
from whystall.cases.book import Book
from whystall.cases.coming_back import DAY_S, held, is_back, is_due, kept_on, opened_again
from whystall.model.text import Text


def test_a_look_a_day_is_enough() -> None:
    kept = msgspec.structs.replace(closed_case(), outcome="kept", closed=START, steps=())
    assert not is_due(kept, START + DAY_S - 1)
    assert is_due(kept, START + DAY_S)
    looked = held(kept, START + DAY_S, Text("holds"))
    assert not is_due(looked, START + DAY_S + 60)
    assert is_due(looked, START + 2 * DAY_S)


def test_the_surest_cause_must_be_there_again() -> None:
    one = closed_case()
    was = max(one.signature.causes, key=lambda id: one.signature.causes[id])
    assert is_back(one, [(was, 0.9)])
    assert not is_back(one, [(was, 0.3), ("gateway", 0.9)])
    assert not is_back(one, [])


def test_only_kept_changes_of_the_target_that_are_no_examples(tmp_path: Path) -> None:
    kept = msgspec.structs.replace(closed_case(), outcome="kept", closed=START)
    with Book.open(tmp_path / "c.sqlite") as book:
        first = book.add(kept)
        book.add(msgspec.structs.replace(kept, outcome="rolled_back"))
        book.add(msgspec.structs.replace(kept, origin="example"))
        book.add(msgspec.structs.replace(kept, target="http://other:8000"))
        assert [one.id for one in kept_on(book, kept.target)] == [first.id]
        book.update(opened_again(first, START + 9, Text("came back")))
        assert kept_on(book, kept.target) == []
        assert book.summaries()[-1].came_back

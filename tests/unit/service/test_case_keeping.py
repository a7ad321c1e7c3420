from pathlib import Path

from msgspec.structs import replace

from kept_cases import FP8
from kept_incidents import INCIDENT
from watched_pages import Emulated
from whystall.cases.book import Book
from whystall.cases.opening import case_of
from whystall.service.case_keeping import keep_case


def test_an_incident_that_is_over_is_a_case_once(tmp_path: Path):
    emulated = Emulated("kv_capacity", at=200, until=320)
    emulated.run(700)
    closed = emulated.happened[-1].incident
    path = tmp_path / "cases.sqlite"
    number = keep_case(closed, path)
    assert keep_case(closed, path) == number
    with Book.read(path) as book:
        (case,) = book.cases()
    assert (case.origin, case.outcome, case.opened, case.closed) == (
        "watch",
        "recovered",
        closed.opened,
        closed.recovered,
    )
    assert case.diagnosis["causes"][0]["id"] == "kv_capacity"
    assert [step.id for step in case.steps] == ["began", "diagnosed", "closed"]


def test_what_was_not_diagnosed_or_is_not_over_is_none(tmp_path: Path):
    assert keep_case(INCIDENT, tmp_path / "c") == 0
    assert keep_case(replace(INCIDENT, state="recovered", recovered=2.0), tmp_path / "c") == 0
    assert not (tmp_path / "c").exists()


def test_a_kept_change_whose_cause_is_back_is_opened_again(tmp_path: Path):
    emulated = Emulated("kv_capacity", at=200, until=320)
    emulated.run(700)
    closed = emulated.happened[-1].incident
    was = case_of(closed.diagnosis, closed.opened - 90_000, "fix")
    kept = replace(was, outcome="kept", closed=closed.opened - 86_400, remedy=FP8)
    path = tmp_path / "cases.sqlite"
    with Book.open(path) as book:
        mine, later, others = (
            book.add(one)
            for one in (kept, replace(kept, closed=closed.opened + 1), replace(kept, target="http://other:8000"))
        )
    keep_case(closed, path)
    with Book.read(path) as book:
        assert book.case(mine.id).outcome == "open"
        assert book.case(mine.id).steps[-1].id == "reopened"
        assert [book.case(one.id).outcome for one in (later, others)] == ["kept", "kept"]

from __future__ import annotations

from kept_cases import closed_case, open_case
from whystall.cases.success import success
from whystall.model.case import Case, CaseStep, summary_of
from whystall.model.diagnosis import Tried


def counted(*cases: Case) -> dict[str, Tried]:
    numbered = [summary_of(case) for case in cases]
    return success(numbered)


def test_kept_helped_and_rolled_back_did_not():
    found = counted(closed_case(id=1), closed_case("rolled_back", id=2), closed_case(id=3))
    assert found == {"kv_capacity.fp8": Tried(2, 3, (1, 2, 3))}


def test_what_was_never_applied_says_nothing():
    assert counted(open_case(), closed_case("not_changed"), closed_case("recovered"), closed_case(remedy=None)) == {}


def test_a_case_that_came_back_was_not_helped():
    again = (*closed_case().steps, CaseStep("reopened", 1.0))
    assert counted(closed_case("open", id=1, steps=again), closed_case(id=2)) == {
        "kv_capacity.fp8": Tried(1, 2, (1, 2))
    }


def test_an_example_counts_for_nothing():
    assert counted(closed_case(origin="example")) == {}

"""A kept change a day later: it holds, or its case comes back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from loop_scenes import SEATS, few_seats, planted, prediction, remedy, run_loop
from whystall.cases.book import Book
from whystall.cases.coming_back import DAY_S
from whystall.cases.past import past_of
from whystall.loop.recheck import baseline_of, recheck
from whystall.model.case import Case
from whystall.trials.emulated_target import EmulatedTarget

GOOD = prediction(ttft_mean=(-0.999, -0.3))


def book_of(state: Path) -> Book:
    return Book.open(state / "cases.sqlite")


@pytest.fixture
async def kept(tmp_path: Path) -> tuple[EmulatedTarget, Path, Case]:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)))
    assert fix.state == "kept"
    assert baseline_of(fix.trial)["ttft_mean"] < 0.1
    with book_of(tmp_path) as book:
        case = book.case(fix.case)
        assert case.baseline == baseline_of(fix.trial)
        case = book.update(msgspec.structs.replace(case, closed=(case.closed or 0) - DAY_S))
    return target, tmp_path, case


async def test_after_a_day_it_is_looked_at_once_and_holds(kept: tuple[EmulatedTarget, Path, Case]) -> None:
    target, state, case = kept
    fix = await run_loop(target, state, planted(remedy(SEATS, GOOD)))
    assert fix.state == "healthy"
    (seen,) = fix.rechecked
    assert (seen.case, seen.came_back) == (case.id, False)
    assert "when it was kept" in seen.text.en
    with book_of(state) as book:
        found = book.case(case.id)
        assert (found.outcome, found.steps[-1].id) == ("kept", "checked")
    assert (await run_loop(target, state, planted(remedy(SEATS, GOOD)))).rechecked == ()


async def test_a_cause_that_is_there_again_opens_the_case_again(kept: tuple[EmulatedTarget, Path, Case]) -> None:
    target, state, case = kept
    target._start(("--max-num-seqs", "8"))
    await target.healthy()
    fix = await run_loop(target, state, planted(remedy(SEATS, GOOD)), apply=False)
    assert [(one.case, one.came_back) for one in fix.rechecked] == [(case.id, True)]
    with book_of(state) as book:
        found = book.case(case.id)
        assert (found.outcome, found.closed, found.steps[-1].id) == ("open", None, "reopened")
        assert past_of(book).success["planted"].helped == 0


async def test_figures_plainly_worse_than_the_baseline_at_no_more_load_are_a_case_that_comes_back(
    kept: tuple[EmulatedTarget, Path, Case],
) -> None:
    target, state, case = kept
    recording = await target.look(40.0)
    worse = {**case.baseline, "e2e_mean": case.baseline["e2e_mean"] / 2}
    for load, back in ((1.0, True), (0.5, False)):
        with book_of(state) as book:
            figures = {**worse, "tokens_per_s": case.baseline["tokens_per_s"] * load}
            book.update(msgspec.structs.replace(case, baseline=figures))
        (seen,) = recheck(state / "cases.sqlite", recording, None, (case.closed or 0) + DAY_S, all_kept=True)
        assert seen.came_back is back


def test_without_a_store_or_a_trial_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    assert baseline_of(None) == {}
    assert recheck(None, None, None, 0.0) == ()  # type: ignore[arg-type]
    assert recheck(tmp_path / "none", None, None, 0.0) == ()  # type: ignore[arg-type]

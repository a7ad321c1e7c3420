"""After a cut: what stands is said and put right; a kept change is undone on demand, the last one first."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from loop_scenes import SEATS, few_seats, planted, prediction, remedy, run_loop
from whystall.cases.book import Book
from whystall.errors import ChangeFailed, UsageError
from whystall.loop.recovery import resume, undo
from whystall.trials.emulated_target import EmulatedTarget
from whystall.trials.journal import Journal

GOOD = prediction(ttft_mean=(-0.999, -0.3))


class Cut(Exception):
    pass


async def cut_at(target: EmulatedTarget, state: Path, *steps: str) -> None:
    def pause(step: str) -> None:
        if step in steps:
            raise Cut

    with pytest.raises(Cut):
        await run_loop(target, state, planted(remedy(SEATS, GOOD)), pause=pause)


@pytest.mark.parametrize(("step", "side"), [("moving_after", "old"), ("at_after", "new")])
async def test_says_what_stands_and_puts_the_old_one_back(tmp_path: Path, step: str, side: str) -> None:
    target, store = few_seats(), tmp_path / "cases.sqlite"
    await cut_at(target, tmp_path, step, "rolling_back")
    told = await resume(target, tmp_path, store, apply=False)
    assert told.state == "planned"
    assert f"the server has the {side} configuration" in told.because.en
    assert target.arguments == (("--max-num-seqs", "32") if side == "new" else ("--max-num-seqs", "8"))
    done = await resume(target, tmp_path, store, apply=True)
    assert (done.state, target.arguments) == ("rolled_back", ("--max-num-seqs", "8"))
    with Book.open(store) as book:
        assert book.case(done.case).outcome == "rolled_back"
    again = await resume(target, tmp_path, store, apply=True)
    assert (again.state, again.because.en) == ("healthy", "no change of it was cut off")


async def test_a_kept_change_is_undone(tmp_path: Path) -> None:
    target, store = few_seats(), tmp_path / "cases.sqlite"
    fix = await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)))
    assert fix.state == "kept"
    told = await undo(target, tmp_path, store, fix.case, apply=False)
    assert (told.state, target.arguments) == ("planned", ("--max-num-seqs", "32"))
    done = await undo(target, tmp_path, store, fix.case, apply=True)
    assert (done.state, target.arguments) == ("rolled_back", ("--max-num-seqs", "8"))
    with Book.open(store) as book:
        assert book.case(fix.case).outcome == "rolled_back"
    with pytest.raises(UsageError, match="no change of case"):
        await undo(target, tmp_path, store, fix.case, apply=True)


async def test_what_somebody_changed_since_is_not_undone(tmp_path: Path) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)))
    target.arguments = ("--max-num-seqs", "77")
    with pytest.raises(ChangeFailed, match="no longer as case"):
        await undo(target, tmp_path, None, fix.case, apply=True)


async def test_only_the_last_change_is_undone(tmp_path: Path) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)))
    journal = Journal(tmp_path, target.target)
    first = journal.kept()
    assert first is not None
    journal.write(msgspec.structs.replace(first, id="later", case=99), "kept")
    with pytest.raises(UsageError, match="is not the last change"):
        await undo(target, tmp_path, None, fix.case, apply=True)

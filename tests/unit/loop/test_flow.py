"""The whole loop in emulated time: what helps is kept, what harms is taken back, what cannot be treated is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from loop_scenes import SEATS, few_seats, planted, prediction, remedy, roomy_server, run_loop, tight
from whystall.cases.book import Book
from whystall.errors import ChangeFailed, Locked
from whystall.model.case import Case
from whystall.model.fix import Fix
from whystall.trials.emulated_target import EmulatedTarget
from whystall.trials.journal import Journal
from whystall.trials.lock import locked

GOOD = prediction(ttft_mean=(-0.999, -0.3))


def case_of(fix: Fix, state: Path) -> Case:
    with Book.open(state / "cases.sqlite") as book:
        return book.case(fix.case)


async def test_what_helps_is_proven_and_kept(tmp_path: Path) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)))
    assert fix.state == "kept"
    assert target.arguments == ("--max-num-seqs", "32")
    assert fix.trial is not None
    assert fix.trial.verdict == "WIN"
    effect = fix.trial.effect("ttft_mean")
    assert effect is not None
    assert (effect.high or 0) < -0.5
    assert fix.improvement is not None
    assert fix.improvement.latency_percent is not None
    assert fix.improvement.latency_percent.high < -20
    assert fix.improvement.throughput_percent is not None
    assert fix.improvement.throughput_percent.low > 20
    assert fix.after is None  # healthy
    assert fix.root_causes[0].id == "seat_cap"
    case = case_of(fix, tmp_path)
    assert (case.outcome, case.origin) == ("kept", "fix")
    assert [step.id for step in case.steps][-4:] == ["chosen", "applied", "verified", "kept"]
    assert case.trial is not None
    kept = Journal(tmp_path, target.target).kept(fix.case)
    assert kept is not None
    assert kept.before == ("--max-num-seqs", "8")


async def test_without_leave_nothing_is_changed(tmp_path: Path) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)), apply=False)
    assert (fix.state, fix.case, target.arguments) == ("planned", 0, ("--max-num-seqs", "8"))
    assert fix.change is not None
    assert (fix.change.text, fix.change.undo) == ("emulate --max-num-seqs 32", "emulate --max-num-seqs 8")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "worse",
    [{"--max-num-seqs": "2"}, {"--max-num-batched-tokens": "48"}, {"--max-num-queued-reqs": "9"}],
    ids=lambda change: next(iter(change)),
)
async def test_a_bad_remedy_is_taken_back_within_one_block(tmp_path: Path, worse: dict[str, str]) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy(worse, GOOD)))
    assert fix.state == "rolled_back"
    assert target.arguments == ("--max-num-seqs", "8")
    assert fix.trial is not None
    assert fix.trial.verdict == "HARM"
    assert [block.arm for block in fix.trial.blocks].count("b") == 1
    assert case_of(fix, tmp_path).outcome == "rolled_back"
    assert Journal(tmp_path, target.target).open() is None


async def test_a_change_that_does_nothing_is_taken_back(tmp_path: Path) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy({"--max-num-queued-reqs": "5000"}, GOOD)))
    assert fix.state == "rolled_back"
    assert fix.trial is not None
    assert fix.trial.verdict in ("FUTILE", "INCONCLUSIVE")
    assert target.arguments == ("--max-num-seqs", "8")


async def test_a_gain_far_below_the_predicted_one_is_taken_back(tmp_path: Path) -> None:
    target = few_seats()
    too_good = prediction(tokens_per_s=(9.0, 12.0))
    fix = await run_loop(target, tmp_path, planted(remedy(SEATS, too_good)))
    assert fix.trial is not None
    assert fix.trial.verdict == "WIN"
    assert fix.state == "rolled_back"
    assert "worse than all of what was predicted" in fix.because.en
    assert target.arguments == ("--max-num-seqs", "8")


async def test_a_server_that_does_not_come_up_is_put_back(tmp_path: Path) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy({"--max-num-seqs": "0"}, GOOD)))
    assert fix.state == "rolled_back"
    assert "max_num_seqs must be at least 1" in fix.because.en
    assert target.arguments == ("--max-num-seqs", "8")


async def test_where_no_knob_helps_it_says_so_and_changes_nothing(tmp_path: Path) -> None:
    target = few_seats()
    fix = await run_loop(target, tmp_path, planted(remedy({}, kind="capacity")))
    assert (fix.state, target.arguments) == ("no_remedy", ("--max-num-seqs", "8"))
    assert "no knob of this server treats seat_cap" in fix.because.en
    assert case_of(fix, tmp_path).outcome == "not_changed"


@pytest.mark.parametrize("advice", ["canary", "no"])
async def test_what_is_not_recommended_is_left(tmp_path: Path, advice: str) -> None:
    unsure = prediction(advice, 0.6, ttft_mean=(-0.9, 0.1))
    fix = await run_loop(few_seats(), tmp_path, planted(remedy(SEATS, unsure)))
    assert fix.state == "no_remedy"
    assert "--canary" in fix.because.en


async def test_a_healthy_server_is_left_alone(tmp_path: Path) -> None:
    roomy = roomy_server()
    fix = await run_loop(EmulatedTarget(tight(roomy, max_num_seqs=64), roomy), tmp_path, planted(remedy(SEATS, GOOD)))
    assert (fix.state, fix.diagnosis, fix.case) == ("healthy", None, 0)
    assert list(tmp_path.iterdir()) == []


async def test_two_loops_never_act_on_one_target(tmp_path: Path) -> None:
    target = few_seats()
    with locked(tmp_path, target.target), pytest.raises(Locked):
        await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)))
    assert target.arguments == ("--max-num-seqs", "8")


class Interrupted(Exception):
    pass


async def test_an_interrupted_proof_leaves_the_old_configuration(tmp_path: Path) -> None:
    target = few_seats()

    def stop(step: str) -> None:
        if step == "at_after":
            raise Interrupted

    with pytest.raises(Interrupted):
        await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)), pause=stop)
    assert target.arguments == ("--max-num-seqs", "8")
    assert [change.state for change in Journal(tmp_path, target.target).changes()] == ["rolled_back"]


async def test_a_change_that_was_cut_off_comes_first(tmp_path: Path) -> None:
    target = few_seats()

    def die(step: str) -> None:
        if step in ("at_after", "rolling_back"):
            raise Interrupted

    with pytest.raises(Interrupted):
        await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)), pause=die)
    with pytest.raises(ChangeFailed, match="was cut off"):
        await run_loop(target, tmp_path, planted(remedy(SEATS, GOOD)))

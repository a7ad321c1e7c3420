"""The emulated corpus: what it holds, how it is scored, and that a small sample of it is answered about as well as ever."""

from __future__ import annotations

import json

import pytest
from corpus import withheld_weights
from corpus_cases import HELD_WORKLOAD, PROFILES, SEVERITIES, WITHHELD, WORKLOADS, Case, drawn
from corpus_record import agrees, limits_that_bound
from corpus_rows import completed, rows
from corpus_run import ARMS, run
from corpus_score import Weights, alike, answered, ece, figures, measured, of_table

from whystall.causes.catalogue import catalogue
from whystall.causes.weights import table
from whystall.emulator.server.faults import FAULTS

SEED = 4
FACTS = {
    "waiting_share": 0.9,
    "seats_share": 0.0,
    "short_share": 0.8,
    "preemptions": 0.0,
    "prefill_share": 0.1,
    "compute_share": 0.0,
    "waiting_end": 50.0,
    "waiting_start": 0.0,
    "queue_s": 3.0,
    "itl_s": 0.02,
    "decode_itl_s": 0.015,
}


def test_every_fault_is_drawn_and_no_split_sees_anothers_hardware() -> None:
    cases = {split: drawn(SEED, 3, split) for split in PROFILES}
    for split, held in cases.items():
        assert {c.faults[0] for c in held if len(c.faults) == 1} == set(FAULTS)
        assert {c.profile for c in held} <= set(PROFILES[split])
        assert {c.severity for c in held if len(c.faults) == 1} == set(SEVERITIES)
        assert sum(not c.faults for c in held) * 5 >= len(held) * 0.95  # a fifth
        assert len({c.key for c in held}) == len(held)
    assert {c.workload for c in cases["blind"]} == set(WORKLOADS)
    assert HELD_WORKLOAD not in {c.workload for c in cases["fit"] + cases["temperature"]}


def test_a_seed_draws_the_same_and_another_one_others() -> None:
    assert drawn(SEED, 1, "blind") == drawn(SEED, 1, "blind")
    assert drawn(SEED, 1, "blind") != drawn(SEED + 1, 1, "blind")


def test_what_is_withheld_are_faults_of_the_catalogue() -> None:
    assert set(WITHHELD) <= set(catalogue()) & set(FAULTS)


def test_the_record_says_which_limit_bound() -> None:
    assert limits_that_bound(FACTS) == {"kv_capacity"}  # overload is what is left when nothing else bound
    assert limits_that_bound(FACTS | {"short_share": 0.0}) == {"overload"}
    assert limits_that_bound(FACTS | {"seats_share": 0.9, "short_share": 0.0, "waiting_end": 3.0}) == {"seat_cap"}
    assert limits_that_bound(FACTS | {"waiting_share": 0.0}) == set()


def test_a_why_is_compared_with_the_record() -> None:
    assert agrees("kv.saturated", False, FACTS) is True
    assert agrees("seats.full", False, FACTS) is False
    assert agrees("seats.full", True, FACTS) is True
    assert agrees("nothing.known", False, FACTS) is None
    assert agrees("queue.refused", False, FACTS) is None  # the record lacks the number


def test_calibration_error() -> None:
    assert ece([(1.0, True), (0.0, False)]) == 0
    assert ece([(0.9, True)] * 9 + [(0.9, False)]) == pytest.approx(0.0)
    assert ece([(0.95, False)] * 4) == pytest.approx(0.95)


def test_a_run_that_nobody_feels_is_left_out() -> None:
    calm = Case("blind", "mi300x-8b", "chat", 0.25, 7, ("longer_prompts",), 0.01)
    assert run(calm)["dropped"] == "users feel nothing"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory):
    """A run of each fault on hardware that fitting never saw."""
    path = tmp_path_factory.mktemp("corpus") / "rows.jsonl"
    cases = drawn(SEED, 1, "blind")
    return path, cases, completed(cases, path, 2)


def test_a_run_goes_on_where_it_stopped(sample) -> None:
    path, cases, found = sample
    cut = path.with_name("cut.jsonl")
    lines = path.read_text().splitlines()
    cut.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:40])
    again = completed(cases, cut, 1)
    assert [row["key"] for row in again] == [row["key"] for row in found]
    lost = json.loads(lines[-1])["key"]
    assert next(r for r in again if r["key"] == lost) == next(r for r in found if r["key"] == lost)
    assert len(rows(cut)) == len(cases)


def test_the_sample_is_answered_about_as_well_as_ever(sample) -> None:
    """Bounds well below what the long form measures (benchmarks/results/corpus.jsonl): 60 runs say no more."""
    kept = [row for row in sample[2] if "arms" in row]
    assert len(kept) > len(sample[2]) / 2
    found = measured(kept, of_table(table()), withheld_weights(), WITHHELD)
    assert set(found["arms"]) == set(ARMS)
    assert found["arms"]["all"]["at_1"] > 0.5
    assert found["arms"]["all"]["at_3"] > 0.6
    assert found["arms"]["metrics"]["at_1"] > 0.25
    assert found["arms"]["all"]["grounded"] > 0.8
    assert found["arms"]["all"]["ece"] < 0.4


def test_a_wrong_answer_is_no_right_one(sample) -> None:
    """Without the causes in question nothing can be right but abstaining."""
    kept = [row for row in sample[2] if "arms" in row and len(row["case"]["faults"]) == 1 and not alike(row, "all")]
    kept = [row for row in kept if not any("network" in causes for causes in row["accepted"])]
    assert kept
    assert figures([answered(row, "all", Weights({"network": catalogue()["network"]})) for row in kept]).at_1 == 0


def test_what_any_restart_costs_is_no_loss_of_the_settings_that_came_with_it() -> None:
    """After the restart the batch fills anew, so that fewer answers come, and nothing else is worse than without."""
    seed = 975699785
    assert (
        run(Case("blind", "rtx4090-8b", "code", 0.45, seed, ("config_regression",), 0.5))["dropped"]
        == "users feel nothing"
    )
    assert "arms" in run(Case("blind", "mi300x-8b", "agent", 0.25, 535857869, ("config_regression",), 1.0))

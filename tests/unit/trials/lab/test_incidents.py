"""The two published incidents: what a V1 engine shows of them, and what their cures do."""

from __future__ import annotations

from pathlib import Path

import pytest

from whystall.trials.lab.experiment import Experiment
from whystall.trials.lab.incidents import incidents, long_prompts, slow_all_reduce
from whystall.trials.lab.run import run_experiment


def figures(experiment: Experiment, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    outcome, _ = run_experiment(experiment, folder)
    return outcome.before, outcome.after


@pytest.mark.parametrize("experiment", incidents(), ids=lambda one: one.id)
def test_what_a_real_scheduler_shows_is_seen(experiment: Experiment, tmp_path: Path) -> None:
    outcome, _ = run_experiment(experiment, tmp_path)
    assert [o for o in outcome.observations if o.expectation.by == "scheduler" and not o.holds] == []
    assert not any(o.holds for o in outcome.observations if o.expectation.by == "article")


def test_the_budget_cures_nothing_and_a_larger_pool_does(tmp_path: Path) -> None:
    _, as_published = figures(long_prompts(), tmp_path / "a")
    _, smaller_budget = figures(long_prompts(budget=5_000), tmp_path / "b")
    _, larger_gpu = figures(long_prompts(gpu="a100-80gb"), tmp_path / "c")
    assert smaller_budget["ttft"] == pytest.approx(as_published["ttft"], rel=0.05)
    assert larger_gpu["ttft"] < 0.1 * as_published["ttft"]


def test_fewer_seats_make_the_queue_longer(tmp_path: Path) -> None:
    before, as_published = figures(slow_all_reduce(), tmp_path / "a")
    _, fewer_seats = figures(slow_all_reduce(seats=64), tmp_path / "b")
    assert before["ttft"] == pytest.approx(0.3, rel=0.2)
    assert as_published["ttft"] == pytest.approx(1.2, rel=0.2)
    assert fewer_seats["ttft"] > 3 * as_published["ttft"]

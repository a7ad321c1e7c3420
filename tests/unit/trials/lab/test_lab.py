"""The laboratory: what a real scheduler must show is seen, and what articles claim is put to the test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whystall.cli.lab import lab
from whystall.emulator.server.faults import FAULTS
from whystall.errors import Refused, Unavailable, UsageError
from whystall.model.text import Text
from whystall.trials.lab.catalogue import experiments, find_experiment
from whystall.trials.lab.experiment import Expectation
from whystall.trials.lab.real_server import vllm_python, write_model
from whystall.trials.lab.run import UNITS, run_experiment

CLASSICS = ("kv-overflow", "scheduling-delay", "low-gpu-use")
ARTICLES = ("article-small-budget", "article-hundred-seats", "article-tensor-parallel")


@pytest.mark.parametrize("name", [*CLASSICS, *ARTICLES])
def test_what_a_real_scheduler_shows_is_seen(name: str, tmp_path: Path) -> None:
    outcome, _ = run_experiment(find_experiment(name), tmp_path / "run")
    missed = [o for o in outcome.observations if o.expectation.by == "scheduler" and not o.holds]
    assert missed == []
    assert any(o.expectation.by == "scheduler" for o in outcome.observations)


@pytest.mark.parametrize("name", ["kv-overflow", "scheduling-delay", "article-small-budget"])
def test_what_articles_claim_does_not_happen(name: str, tmp_path: Path) -> None:
    outcome, _ = run_experiment(find_experiment(name), tmp_path / "run")
    claims = [o for o in outcome.observations if o.expectation.by == "article"]
    assert claims
    assert not any(o.holds for o in claims)


def test_there_is_an_experiment_for_every_fault() -> None:
    names = [experiment.id for experiment in experiments()]
    assert len(names) == len(set(names))
    assert set(FAULTS) <= set(names)
    assert {e.figure for x in experiments() for e in x.expectations} <= set(UNITS)


@pytest.mark.parametrize(
    ("kind", "level", "before", "after", "holds"),
    [
        ("rises", 2.0, 1.0, 2.5, True),
        ("rises", 2.0, 1.0, 1.5, False),
        ("falls", 2.0, 4.0, 1.0, True),
        ("falls", 2.0, 4.0, 3.0, False),
        ("stays", 1.1, 1.0, 1.05, True),
        ("stays", 1.1, 1.0, 1.5, False),
        ("above", 0.5, 0.0, 0.6, True),
        ("below", 0.5, 0.0, 0.6, False),
        ("above", 0.5, 0.0, float("nan"), False),
        ("below", 0.5, 0.0, float("nan"), False),
    ],
)
def test_an_expectation_holds_or_not(kind: str, level: float, before: float, after: float, holds: bool) -> None:
    expectation = Expectation("ttft", kind, level, "scheduler", Text("why"))  # type: ignore[arg-type]
    assert expectation.holds(before, after) is holds


def test_the_verb_says_what_was_expected_and_seen(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        lab, ["run", "kv-overflow", "--json", "--keep", str(tmp_path / "kept")], standalone_mode=False
    )
    assert done.exception is None
    outcome = json.loads(done.output)
    assert (outcome["cause"], outcome["target"]) == ("kv_capacity", "emulator")
    assert outcome["causes"][0] == "kv_capacity"
    assert (tmp_path / "kept" / "metrics.prom").is_file()
    listed = CliRunner().invoke(lab, ["list"], standalone_mode=False)
    assert "kv-overflow" in listed.output


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing"):
        find_experiment("nothing")


def test_a_load_on_a_server_that_is_given_needs_permission() -> None:
    done = CliRunner().invoke(lab, ["run", "kv-overflow", "--target", "http://127.0.0.1:9"], standalone_mode=False)
    assert isinstance(done.exception, Refused)
    assert "--send-load" in done.exception.hint
    assert "--num-gpu-blocks-override" in done.exception.hint


def test_what_runs_on_the_emulator_only_says_so() -> None:
    done = CliRunner().invoke(lab, ["run", "gc_pause", "--target", "vllm"], standalone_mode=False)
    assert isinstance(done.exception, UsageError)


def test_without_vllm_the_lab_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WHYSTALL_VLLM_PYTHON", str(tmp_path / "none"))
    with pytest.raises(Unavailable, match="not installed"):
        vllm_python()


def test_the_tiny_model_is_whole(tmp_path: Path) -> None:
    write_model(tmp_path)
    tokenizer = json.loads((tmp_path / "tokenizer.json").read_text())
    assert len(tokenizer["model"]["vocab"]) == json.loads((tmp_path / "config.json").read_text())["vocab_size"]

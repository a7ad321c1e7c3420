"""The examples are what the emulator gives now: no figure in them is written by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from whystall.cases.examples import example_cases
from whystall.model.case import Case

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "cases" / "examples.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("examples_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("at", [0, 1])
def test_the_script_makes_them(script, at):
    made: Case = (script.long_prompts_case, script.slow_all_reduce_case)[at]()
    shipped = example_cases()[at]
    assert [(c.text, c.right, c.because) for c in made.claims] == [(c.text, c.right, c.because) for c in shipped.claims]
    assert made.steps == shipped.steps
    assert made.signature.causes == pytest.approx(shipped.signature.causes, abs=0.02)
    assert made.uid == shipped.uid


def test_the_first_shows_the_published_figures():
    case = example_cases()[0]
    assert list(case.signature.causes) == ["kv_capacity", "longer_prompts"]
    because = case.claims[0].because.en
    assert "(-48%)" in because
    assert case.diagnosis["impact"]["ttft_mean_s"] > 1.0

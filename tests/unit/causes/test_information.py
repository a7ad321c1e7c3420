"""Which signal is asked for when two causes are left."""

from typing import get_args

import pytest

from scenes import scene_of
from whystall.causes.catalogue import catalogue
from whystall.causes.coverage import coverage
from whystall.causes.information import COST, Doubt, of_a_process, signal_of, worth
from whystall.evidence.families import collect
from whystall.model.diagnosis import Signal

NOTHING: frozenset[str] = frozenset()


def doubt(first: str, second: str | None = None, p: float = 0.5, q: float = 0.45) -> Doubt:
    entries = catalogue()
    return Doubt(entries[first], p, entries[second] if second else None, q if second else 0.0)


def test_every_signal_has_a_price() -> None:
    assert COST.keys() == set(get_args(Signal))
    assert COST["metrics"] == 0
    assert COST["spans"] == max(COST.values())


def test_evidence_is_read_from_a_signal() -> None:
    assert signal_of("gpu.held_down") == "gpu"
    assert signal_of("cpu.throttled") == "host"
    assert signal_of("queue.delay") == "metrics"


@pytest.mark.parametrize(
    ("first", "second", "signal"),
    [
        ("gc_pause", "jit_compile", "log"),
        ("network", "gateway", "client"),
        ("gpu_throttle", "prefill_bound", "gpu"),
        ("comm_bound", "straggler_rank", "trace"),
        ("structured_output", "lora_swapping", "config"),
    ],
)
def test_the_signal_that_parts_two_causes_is_worth_most(first: str, second: str, signal: str) -> None:
    page = frozenset(e for name in (first, second) for e in catalogue()[name].weights if signal_of(e) == "metrics")
    others = {one: worth(one, doubt(first, second), page) for one in COST}
    assert max(others, key=lambda one: others[one]) == signal


def test_what_was_seen_is_worth_nothing_more() -> None:
    pair = doubt("gc_pause", "jit_compile")
    seen = frozenset({*catalogue()["gc_pause"].weights, *catalogue()["jit_compile"].weights})
    assert worth("log", pair, NOTHING) > 0
    assert worth("gpu", pair, NOTHING) == pytest.approx(0.0, abs=1e-9)
    assert worth("log", pair, seen) < worth("log", pair, NOTHING) + 1e-9


def test_an_open_question_is_worth_more_than_a_nearly_closed_one() -> None:
    assert worth("log", doubt("gc_pause", "jit_compile"), NOTHING) > worth(
        "log", doubt("gc_pause", "jit_compile", 0.97, 0.02), NOTHING
    )


def test_a_process_is_asked_with_py_spy_and_a_device_with_a_profiler() -> None:
    assert of_a_process(doubt("engine_loop_cpu", "frontend_cpu"))
    assert not of_a_process(doubt("comm_bound", "straggler_rank"))
    state = scene_of({}).state
    how = {m.signal: m.how.en for m in coverage(state, catalogue(), {}, doubt("engine_loop_cpu")).missing}
    assert "py-spy" in how["trace"]
    how = {m.signal: m.how.en for m in coverage(state, catalogue(), {}, doubt("comm_bound")).missing}
    assert "py-spy" not in how["trace"]


def test_under_a_doubt_what_settles_it_stands_first() -> None:
    scene = scene_of({})
    evidence = collect(scene)
    found = coverage(scene.state, catalogue(), evidence, doubt("network", "gateway"))
    assert found.missing[0].signal == "client"
    assert {m.signal for m in found.missing} == {m.signal for m in coverage(scene.state, catalogue(), evidence).missing}

"""The spread over the engines of a page, as each of them sees it."""

import pytest

from cases.window import recording_of
from scenes import ARGV, CALM, evidence_of
from whystall.evidence.families import collect
from whystall.evidence.scene import Scene
from whystall.pipeline import states_of


def both(mine: dict, other: dict) -> list[dict]:
    case = {"argv": ARGV, "phases": [{**CALM, **mine, "peers": [{**CALM, **other}]}]}
    return [collect(Scene(state)) for state in states_of(recording_of(case))]


def test_each_engine_sees_the_other() -> None:
    loaded, idle = both({"running": 40}, {"running": 2, "rate": 0.2})
    assert loaded["peers.load"].strength == 1.5
    assert loaded["peers.room"].strength > 1
    assert idle["peers.load"].strength < 0
    assert idle["peers.room"].strength < 0


def test_equal_engines_are_no_spread_and_a_lone_one_has_none() -> None:
    for found in both({}, {}):
        assert found["peers.load"].strength < 0
        assert found["peers.load"].value == pytest.approx(1.0)
    assert not any(id.startswith("peers.") for id in evidence_of({}))


def test_equal_counts_of_unequal_requests_are_a_spread() -> None:
    loaded, _ = both({"kv": 0.9}, {"kv": 0.1})
    assert loaded["peers.load"].strength > 1
    assert "KV blocks" in loaded["peers.load"].text.en


@pytest.mark.parametrize(
    ("other", "sign"),
    [
        ({"running": 24, "rate": 12.0}, 1),  # the same steps over three times the tokens
        ({"running": 24, "rate": 12.0, "itl_ms": 30}, -1),  # a third of the steps
        ({}, 0),  # the same steps over the same tokens say nothing
    ],
)
def test_steps_together(other: dict, sign: int) -> None:
    strength = both({}, other)[0]["peers.lockstep"].strength
    assert (strength > 0.3, strength < -0.3) == (sign > 0, sign < 0)


@pytest.mark.parametrize(
    ("flags", "strength"),
    [(["--data-parallel-size", "2", "--enable-expert-parallel"], 1.0), (["--data-parallel-size", "2"], 0.3)],
)
def test_what_makes_ranks_step_together(flags: list[str], strength: float) -> None:
    assert evidence_of({}, argv=[*ARGV, *flags])["config.lockstep"].strength == strength


def test_dummy_steps_in_the_log() -> None:
    step = (
        "Engine 000: Iteration(1): 0 context requests, 0 context tokens, 0 generation requests, 0 generation tokens, "
    )
    step += "iteration elapsed time: 9.10 ms{dummy}, GPU KV cache usage: 1.0%"
    found = evidence_of({}, log=[[1.0, step.format(dummy=" (dummy)")], [2.0, step.format(dummy="")]])["steps.dummy"]
    assert found.value == 0.5
    assert found.strength > 1
    assert evidence_of({}, log=[[1.0, step.format(dummy="")]])["steps.dummy"].strength < 0

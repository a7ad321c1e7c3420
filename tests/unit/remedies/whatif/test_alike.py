"""What a window does not tell is as another machine of its kind has it, and no freer."""

from __future__ import annotations

import math
import random

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.profiles import load_profile
from whystall.remedies.whatif.alike import SPARE, another, narrowed

KNOWN = load_profile("h200-8b")
ERROR = 0.15
UNTOLD = 0.7  # as wide as a fit's draws are of what its samples do not tell


def drawn_of(fitted: StepProfile, told: dict[str, float], count: int = 200) -> list[StepProfile]:
    """Draws of a fit: ``told`` has how surely it knows a coefficient (log), all others are free."""
    rng = random.Random(1)
    moves = [{name: math.exp(rng.gauss(0, told.get(name, UNTOLD))) for name in SPARE} for _ in range(count)]
    return [fitted.scaled(**move) for move in moves]


def logs(draws: list[StepProfile], name: str, of: StepProfile) -> np.ndarray:
    return np.log([getattr(draw, name) / getattr(of, name) for draw in draws])


def test_what_the_fit_tells_stays_and_the_rest_is_of_the_kind() -> None:
    drawn = drawn_of(KNOWN, {"host_mixed_s": 0.01})
    found = narrowed(drawn, KNOWN, KNOWN, ERROR, 200)
    assert logs(found, "host_mixed_s", KNOWN).std() == pytest.approx(0.01, rel=0.2)
    for name in ("floor_s", "token_s", "pair_s"):
        assert logs(drawn, name, KNOWN).std() > 0.5
        assert 0.08 < logs(found, name, KNOWN).std() <= 0.16
    assert all(draw.mixed_request_s == draw.decode_request_s for draw in found)


def test_a_machine_whose_one_part_is_slower_is_slower_in_the_others_too() -> None:
    """By half as much: that is the share of the common part."""
    fitted = KNOWN.scaled(host_mixed_s=1.3)
    found = narrowed(drawn_of(fitted, {"host_mixed_s": 0.01}), fitted, KNOWN, ERROR, 200)
    assert logs(found, "host_mixed_s", fitted).mean() == pytest.approx(0.0, abs=0.02)
    assert logs(found, "token_s", KNOWN).mean() == pytest.approx(math.log(1.3) / 2, abs=0.03)


def test_an_eager_server_s_steps_are_not_held_to_a_floor_with_graphs() -> None:
    fitted = msgspec.structs.replace(KNOWN, max_graph_tokens=0, floor_s=0.025)
    found = narrowed(drawn_of(fitted, {"floor_s": 0.01}), fitted, KNOWN, ERROR, 20)
    assert logs(found, "floor_s", fitted).mean() == pytest.approx(0.0, abs=0.01)


def test_too_few_draws_stay_as_they_are() -> None:
    drawn = drawn_of(KNOWN, {}, 5)
    assert narrowed(drawn, KNOWN, KNOWN, ERROR, 3) == drawn[:3]


@given(
    told=st.dictionaries(st.sampled_from(SPARE), st.floats(1e-3, 1.0)),
    off=st.dictionaries(st.sampled_from(SPARE), st.floats(0.3, 3.0)),
    error=st.floats(0.02, 0.5),
)
def test_both_together_are_never_less_sure_than_one(
    told: dict[str, float], off: dict[str, float], error: float
) -> None:
    fitted = KNOWN.scaled(**off)
    drawn = drawn_of(fitted, told, 60)
    found = narrowed(drawn, fitted, KNOWN, error, 60)
    for name in SPARE:
        wide = logs(drawn, name, fitted).std()
        assert np.isfinite(logs(found, name, fitted)).all()
        assert logs(found, name, fitted).std() <= min(wide, 1.5 * error) + 0.05 * wide + 1e-3


def test_another_machine_is_off_by_the_error() -> None:
    draws = [another(KNOWN, ERROR, random.Random(n)) for n in range(400)]
    assert logs(draws, "floor_s", KNOWN).std() == pytest.approx(ERROR, rel=0.15)
    together = np.corrcoef(logs(draws, "floor_s", KNOWN), logs(draws, "token_s", KNOWN))[0, 1]
    assert together == pytest.approx(0.5, abs=0.15)

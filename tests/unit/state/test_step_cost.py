"""What a step of a batch costs: the line is found again, pauses are no steps, and work unlike the fitted one is doubted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from states import state_of
from whystall.state.step_cost import TERMS, fit_cost, non_negative, pause_s, step_rows, without_pauses

ARGV = ("vllm", "serve", "m", "--max-num-batched-tokens", "8192", "--num-gpu-blocks-override", "20000")
SWING = {"running": [20, 28, 36, 30, 24, 18, 26, 34], "kv": [0.1, 0.14, 0.18, 0.15, 0.12, 0.09, 0.13, 0.17]}
CALM = {"seconds": 40, **SWING, "rate": 2, "prompt": 400, "output": 100}
ITL = [10, 11.6, 13.2, 12, 10.8, 9.6, 11.2, 12.8]  # 6 ms and 0.2 ms a request


def test_rows_are_of_twenty_steps_and_say_what_each_holds() -> None:
    rows = step_rows(state_of({**CALM, "itl_ms": ITL}, argv=ARGV))
    assert len(rows) == 40
    assert rows.seconds == pytest.approx(np.resize(np.array(ITL) / 1e3, 40), rel=0.01)
    assert rows.work[:, TERMS.index("requests")] == pytest.approx(np.resize(SWING["running"], 40), rel=0.01)


def test_few_steps_are_joined() -> None:
    rows = step_rows(state_of({**CALM, "running": 8, "itl_ms": 125}, argv=ARGV))
    assert len(rows) == pytest.approx(40 / 3, abs=1)
    assert (rows.last - rows.first >= 2).all()


def test_preemption_hides_work_so_its_time_is_left_out() -> None:
    rows = step_rows(state_of({**CALM, "itl_ms": ITL}, {**CALM, "itl_ms": ITL, "preemptions": 3}, argv=ARGV))
    assert rows.last.max() <= 40


def test_a_window_without_steps_has_no_rows() -> None:
    assert len(step_rows(state_of({"seconds": 20, "running": 0, "rate": 0.0}, argv=ARGV))) == 0


def test_the_line_is_found_again() -> None:
    state = state_of({**CALM, "itl_ms": ITL}, argv=ARGV)
    rows = step_rows(state)
    cost = fit_cost(rows, state)
    assert cost.error_ratio < 0.02
    assert (cost.coefficients >= 0).all()
    assert cost.seconds(rows.work) == pytest.approx(rows.seconds, rel=0.05)


def test_work_unlike_what_was_fitted_is_doubted() -> None:
    state = state_of({**CALM, "itl_ms": ITL}, argv=ARGV)
    rows = step_rows(state)
    cost = fit_cost(rows, state)
    far = rows.work.copy()
    far[:, TERMS.index("tokens")] *= 100
    assert cost.doubt(rows.work).max() < 0.05
    assert cost.doubt(far).min() > 0.2


def test_without_rows_the_prior_stands_with_a_wide_error() -> None:
    state = state_of({**CALM, "itl_ms": ITL}, argv=ARGV)
    rows = step_rows(state)
    cost = fit_cost(rows.some(slice(0, 0)), state, quick_s=0.01)
    assert cost.rows == 0
    assert cost.doubt(rows.work).min() > 0.3


def test_pauses_are_no_steps() -> None:
    state = state_of({**CALM, "itl_ms": ITL, "slow_tokens": [0.02, 700]}, argv=ARGV)
    rows = step_rows(state)
    from_s = pause_s(rows, state)
    assert 0.2 <= from_s < 0.5
    assert rows.seconds.min() > 0.02
    steps = without_pauses(rows, from_s).seconds
    assert steps == pytest.approx(np.resize(np.array(ITL) / 1e3, len(rows)), rel=0.15)


def test_long_steps_of_long_prompts_are_no_pauses() -> None:
    state = state_of({**CALM, "prompt": 8000, "itl_ms": 30, "slow_tokens": [0.02, 700]}, argv=ARGV)
    assert pause_s(step_rows(state), state) > 0.7


@given(st.lists(st.floats(0, 5), min_size=3, max_size=3), st.integers(0, 1000))
def test_non_negative_least_squares_finds_what_made_the_data(truth: list[float], seed: int) -> None:
    matrix = np.random.default_rng(seed).uniform(0.1, 1.0, (12, 3))
    found = non_negative(matrix, matrix @ np.array(truth))
    assert (found >= 0).all()
    assert matrix @ found == pytest.approx(matrix @ np.array(truth), abs=1e-5)


@given(st.integers(0, 1000))
def test_non_negative_least_squares_is_no_worse_than_any_neighbour(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix, target = random.normal(size=(15, 4)), random.normal(size=15)
    found = non_negative(matrix, target)
    best = float(((matrix @ found - target) ** 2).sum())
    for j in range(4):
        for step in (-1e-3, 1e-3):
            other = found.copy()
            other[j] = max(other[j] + step, 0.0)
            assert best <= float(((matrix @ other - target) ** 2).sum()) + 1e-9


def test_long_steps_of_a_crowd_that_came_at_once_are_no_pauses() -> None:
    """Prompts of 400 tokens: 8,000 tokens of them in each of the few steps of some seconds."""
    calm = {**CALM, "prompt": 400, "rate": 2, "itl_ms": 30, "slow_tokens": [0.02, 700]}
    crowd = {**calm, "seconds": 3, "rate": 40, "steps": 2}
    alone, together = (state_of(*phases, argv=ARGV) for phases in ((calm,), (calm, crowd)))
    assert pause_s(step_rows(alone), alone) < 0.5
    assert pause_s(step_rows(together), together) > 0.7

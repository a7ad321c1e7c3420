"""A tenth more time a step is found among rows that are rough because of their prompts; roughness alone is nothing."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from states import blank
from whystall.evidence.step_watch import StepNoise, by_gaps_and_clock, slower_from
from whystall.model.engine_state import EngineState
from whystall.state.step_cost import StepRows, fit_cost

STEP_S = 0.010


def rows_of(seconds: np.ndarray, prompts: np.ndarray) -> StepRows:
    """A row each second: twenty decoding requests, and as many prompt tokens a step as are given."""
    m, one = len(seconds), np.ones(len(seconds))
    work = np.column_stack([one, 20 + prompts, 20 * one, 8000 * one, np.minimum(prompts / 100, 1.0), 0 * one])
    return StepRows(np.arange(m), np.arange(m) + 1, seconds, np.ones((m, 1)), np.tile([[0.0, 1.0]], (m, 1, 1)), work)


def server(rows: int, running: float = 20.0, seconds: float = 1.0, steps: float = 100.0) -> EngineState:
    column = [running] * rows
    return blank([seconds] * rows, running_start=column, running_end=column, steps=[steps] * rows)


def rough(seed: int, count: int = 150, slower_from: int | None = None, by: float = 1.1) -> StepRows:
    """Half of the rows have prompts, which take half of the time and are off by a sixth; the rest are sharp."""
    rng = np.random.default_rng(seed)
    prompts = np.where(rng.random(count) < 0.5, 60.0, 0.0)
    seconds = (STEP_S + STEP_S * prompts / 60) * np.exp(rng.normal(0, np.where(prompts > 0, 0.12, 0.01)))
    if slower_from is not None:
        seconds[slower_from:] *= by
    return rows_of(seconds, prompts)


@pytest.mark.parametrize("seed", range(5))
def test_a_tenth_is_found_among_rough_rows_within_thirty_seconds(seed: int) -> None:
    found = slower_from(rough(seed, 150, slower_from=120), server(150), None)
    assert found.since is not None
    assert 110 <= found.since <= 130


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_rough_rows_alone_are_no_slower_steps(seed: int) -> None:
    assert slower_from(rough(seed), server(150), None).since is None


def test_a_line_of_a_few_rows_is_not_taken_at_its_word() -> None:
    rows = rough(3, 40)
    few, many = rows.some(slice(0, 12)), rows
    cost = fit_cost(many, server(40))
    assert StepNoise(0.02, 0.1, 12).of_rows(few, cost)[0] > 1.3 * StepNoise(0.02, 0.1, 400).of_rows(few, cost)[0]


def test_prompts_make_the_noise_of_the_rows_that_have_them() -> None:
    rows = rough(4, 400)
    noise = StepNoise.of(rows, fit_cost(rows, server(400)))
    assert noise.decoding == pytest.approx(0.02, abs=0.01)
    assert noise.prompts > 4 * noise.decoding


def test_the_clock_corrects_gaps_that_weigh_crowded_steps_more() -> None:
    rows = rows_of(np.full(8, 0.0144), np.zeros(8))  # by the gaps; by the clock 100 steps a second
    assert by_gaps_and_clock(rows, server(8)).seconds == pytest.approx(np.full(8, 0.012))


def test_an_engine_that_ran_dry_has_no_clock() -> None:
    rows = rows_of(np.full(8, 0.010), np.zeros(8))
    assert by_gaps_and_clock(rows, server(8, running=0.0, steps=50)).seconds == pytest.approx(rows.seconds)
    # Between two pages nobody sees it: no more than a tenth is believed.
    assert (by_gaps_and_clock(rows, server(8, steps=50)).seconds <= 1.06 * rows.seconds).all()


def test_rows_of_more_seconds_need_less_to_be_sure() -> None:
    """Chance has fewer occasions in an hour of them: three rows of five seconds do where one second takes four."""
    seconds = np.full(60, STEP_S)
    seconds[50:] *= 1.15

    def first(long_s: float) -> int:
        state = server(60, seconds=long_s, steps=100 * long_s)
        cut = rows_of(seconds, np.zeros(60))
        for end in range(51, 60):
            part = cut.some(slice(0, end))
            short = msgspec.structs.replace(
                state, **{name: getattr(state, name)[:end] for name in ("dt", "steps", "running_start", "running_end")}
            )
            if slower_from(part, short, None).since is not None:
                return end - 50
        return 10

    assert first(5.0) < first(1.0) < 10

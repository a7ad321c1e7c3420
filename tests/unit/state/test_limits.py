"""Limits read off plateaus, and the plateaus that are none."""

import numpy as np
import pytest

from states import blank, state_of

QUEUED = {"seconds": 40, "running": 16, "waiting": 12, "kv": 0.3, "rate": 8, "prompt": 100, "output": 100, "queue_s": 2}


def inferred(state):
    return {limit.name: limit.value for limit in state.limits if limit.known == "inferred"}


def test_running_flat_under_a_queue_shows_the_seats():
    assert inferred(state_of(QUEUED)) == {"max_num_seqs": 16}


def test_a_gauge_that_dips_when_requests_leave_still_shows_them():
    assert inferred(state_of({**QUEUED, "running": [16, 16, 15, 16, 14]})) == {"max_num_seqs": 16}


def test_a_seat_that_stays_free_for_a_long_step_still_shows_them():
    """As a page with long prefill steps shows it: each finished request is missing until the step after has run."""
    assert inferred(state_of({**QUEUED, "running": [16, 15, 16, 15, 16, 15, 15, 16, 16]})) == {"max_num_seqs": 16}


def test_what_is_known_is_not_inferred():
    assert inferred(state_of(QUEUED, argv=("--max-num-seqs", "32"))) == {}


@pytest.mark.parametrize(
    "phase",
    [
        {**QUEUED, "waiting": 0},  # a client's pool also holds running flat
        {**QUEUED, "kv": 0.99},  # short of blocks, running is flat at what fits
        {**QUEUED, "preemptions": 1.0},
        {**QUEUED, "running": [16, 9, 12, 14, 11]},
        {**QUEUED, "running": [15, 15, 16, 14, 15]},
        {**QUEUED, "seconds": 5},
        {**QUEUED, "running": 0},
    ],
    ids=[
        "nobody waits",
        "no blocks",
        "preemptions",
        "running moves",
        "the highest is rare",
        "too short",
        "nobody runs",
    ],
)
def test_what_is_no_seat_cap(phase):
    assert inferred(state_of(phase)) == {}


def test_steps_full_of_prompts_under_a_queue_show_the_budget_and_no_seats():
    phase = {**QUEUED, "running": [8, 5, 9, 7], "prompt": 3000, "rate": 4, "steps": 6, "itl_ms": 160}
    found = inferred(state_of(phase))
    assert set(found) == {"max_num_batched_tokens"}
    assert found["max_num_batched_tokens"] == pytest.approx((4 * 3000 + 7.25 / 0.16) / 6, rel=0.01)


def test_long_prompts_that_wait_for_seats_show_the_seats_and_no_budget():
    """Nine tokens in ten are prompts' with long prompts, whatever binds: running that stands still tells which."""
    phase = {**QUEUED, "running": [8, 8, 7, 8], "prompt": 3000, "rate": 4, "steps": 20, "itl_ms": 50}
    assert inferred(state_of(phase)) == {"max_num_seqs": 8}


def test_seats_that_are_just_free_now_and_then_show_by_steps_of_uneven_length():
    """Most steps decode alone and some hold a prompt: with a budget that binds all are alike."""
    phase = {**QUEUED, "running": [8, 7, 8, 6, 8], "prompt": 3000, "rate": 4, "steps": 20, "itl_ms": 20}
    assert inferred(state_of({**phase, "slow_tokens": [0.15, 300]})) == {"max_num_seqs": 8}
    assert set(inferred(state_of(phase))) == {"max_num_batched_tokens"}


def test_a_wave_of_prompts_shows_no_budget():
    calm = {"seconds": 40, "running": 8, "rate": 2, "kv": 0.3, "prompt": 100, "output": 100}
    wave = {**QUEUED, "running": 8, "prompt": 3000, "rate": 4, "steps": 6, "itl_ms": 160, "seconds": 10}
    assert "max_num_batched_tokens" not in inferred(state_of(calm, wave))


def test_nothing_seen_shows_nothing():
    assert inferred(blank(np.ones(10))) == {}


MORE = {**QUEUED, "seconds": 20, "running": 30, "waiting": 0, "queue_s": 0}


@pytest.mark.parametrize(
    "phases",
    [(MORE, QUEUED), (QUEUED, MORE), (MORE, {"seconds": 10, "away": "unreachable"}, QUEUED)],
    ids=["before", "after", "the same process, away for a while"],
)
def test_seats_are_no_fewer_than_what_ran(phases):
    assert inferred(state_of(*phases)) == {}


def test_seats_that_a_restart_lowered_are_inferred():
    assert inferred(state_of(MORE, {"seconds": 10, "away": True}, QUEUED)) == {"max_num_seqs": 16}

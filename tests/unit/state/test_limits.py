import pytest

from cases.window import recording_of
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Limit
from whystall.state.engine import engine_states

DECODING = {"seconds": 20, "rate": 2.0, "prompt": 100, "output": 400, "itl_ms": 10, "kv": 0.2}


def inferred(*phases: dict, limits: tuple[Limit, ...] = ()) -> dict[str, float]:
    (state,) = engine_states(recording_of({"phases": list(phases)}), Configuration(limits=limits))
    assert all(limit.known == "inferred" for limit in state.limits if limit not in limits)
    return {limit.name: limit.value for limit in state.limits}


def test_seats_from_a_plateau_under_a_queue() -> None:
    assert inferred({**DECODING, "running": [16, 16, 15, 16], "waiting": 9})["max_num_seqs"] == 16


@pytest.mark.parametrize(
    "phase",
    [
        {**DECODING, "running": 16, "waiting": 0},  # nothing waits, so nothing says that more would not run
        {**DECODING, "running": [16, 9, 12, 14], "waiting": 9},  # no plateau
        {**DECODING, "running": 16, "waiting": 9, "kv": 0.99},  # blocks are what is waited for
        {**DECODING, "running": 16, "waiting": 9, "preemptions": 1},
        {**DECODING, "running": 16, "waiting": 9, "seconds": 2},  # too short
    ],
)
def test_no_seats_without_one(phase: dict) -> None:
    assert "max_num_seqs" not in inferred(phase)


def test_a_known_limit_is_left_alone() -> None:
    known = Limit("max_num_seqs", 256.0, "reported", "log")
    assert inferred({**DECODING, "running": 16, "waiting": 9}, limits=(known,))["max_num_seqs"] == 256


def test_the_token_budget_where_prompts_fill_the_steps() -> None:
    phase = {
        "seconds": 20,
        "running": 4,
        "waiting": 9,
        "kv": 0.2,
        "rate": 8.0,
        "prompt": 2048,
        "itl_ms": 100,
        "steps": 8.0,
    }
    found = inferred(phase)
    tokens = 8 * 2048 + 4 / 0.1
    assert found["max_num_batched_tokens"] == pytest.approx(tokens / 8, abs=1)
    assert "max_num_seqs" not in found

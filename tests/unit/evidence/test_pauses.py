"""Single gaps far longer than any step: told from steps that are all longer, and not explained by prompts."""

import pytest

from scenes import evidence_of, scene_of
from whystall.evidence.pauses import pauses

RUNNING, KV = [20, 28, 36, 30, 24, 18, 26, 34], [0.1, 0.14, 0.18, 0.15, 0.12, 0.09, 0.13, 0.17]
WORK = {"seconds": 40, "running": RUNNING, "kv": KV, "rate": 1, "prompt": 200, "output": 100}
QUIET = {"seconds": 30, "rate": 1}
# A prompt of 4000 tokens each quarter of a second, and one token in twenty that comes after more than a second.
HALTING = {"seconds": 30, "rate": 4.0, "prompt": 4000, "steps": 10.0, "slow_tokens": [0.05, 1200]}


def itl(base: float = 6.0, each: float = 0.2) -> list[float]:
    return [base + each * r for r in RUNNING]


def test_pauses_are_told_from_slow_steps() -> None:
    halts = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(), "slow_tokens": [0.05, 700]})
    slow = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(36)})
    assert halts["step.pauses"].strength >= 1.0
    assert halts["step.residual"].strength < 0.3
    assert slow["step.pauses"].strength < 0


def test_a_gap_in_the_bucket_that_begins_just_below_the_line_is_a_pause() -> None:
    """vLLM's edges are 0.5 and 0.75 s; the line of this server lies between, the pauses of 0.6 s above it."""
    found = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(), "slow_tokens": [0.05, 600]})
    assert found["step.pauses"].strength >= 1.0


def test_a_bucket_that_begins_just_below_the_line_counts_by_its_middle() -> None:
    """Half of the gaps are up to 150 ms, so 600 ms and more is a pause: most of the bucket from 500 to 750 ms is."""
    found = pauses(scene_of(QUIET, {"seconds": 30, "itl_ms": 140, "slow_tokens": [0.2, 700]}))
    assert found is not None
    assert found.long_s == pytest.approx(0.6)
    assert found.share == pytest.approx(0.5, abs=0.05)
    assert found.times == pytest.approx(0.2 * 30 / 0.252, rel=0.05)  # a fifth of each stream's tokens


def test_a_bucket_that_lies_below_the_line_is_made_of_long_steps() -> None:
    found = pauses(scene_of(QUIET, {"seconds": 30, "itl_ms": 140, "slow_tokens": [0.2, 480]}))
    assert found is not None
    assert found.share == 0


def test_nothing_is_told_where_tokens_come_as_usual() -> None:
    assert pauses(scene_of(QUIET, {"seconds": 30})) is None
    assert "step.pauses" not in evidence_of(QUIET, {"seconds": 30})


def test_prompts_explain_no_pause_where_a_healthy_past_tells_what_they_take() -> None:
    """All of the lost time lies near prompts and all of it in pauses; without pauses it is the prompts'."""
    found = evidence_of(QUIET, HALTING)
    assert found["step.pauses"].value == pytest.approx(1.0)
    assert found["itl.mixed_steps"].strength < 0
    stretched = {**HALTING, "itl_ms": 70, "slow_tokens": [0.0, 0.0]}
    assert evidence_of(QUIET, stretched)["itl.mixed_steps"].strength > 0.3


def test_without_a_healthy_past_a_long_gap_may_be_a_prompts_step() -> None:
    assert not scene_of(HALTING).before.any()
    found = evidence_of(HALTING)
    assert found["step.pauses"].value == pytest.approx(1.0)
    assert found["itl.mixed_steps"].strength > 0.3


@pytest.mark.parametrize(("lines", "speaks_for"), [(2, True), (40, False)])
def test_a_collector_that_paused_twice_made_no_forty_pauses(lines: int, speaks_for: bool) -> None:
    log = [[45 + 0.5 * i, "GC took 700.000ms to complete. Generation: 2"] for i in range(lines)]
    halts = {**WORK, "itl_ms": itl(), "slow_tokens": [0.05, 700]}
    found = evidence_of({**WORK, "itl_ms": itl()}, halts, log=log)["pauses.unnamed"]
    assert (found.strength >= 0.3) == speaks_for
    assert "pauses.unnamed" not in evidence_of({**WORK, "itl_ms": itl()}, halts)

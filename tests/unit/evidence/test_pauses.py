"""Single gaps far longer than any step, told from steps that are all longer."""

from scenes import evidence_of

RUNNING, KV = [20, 28, 36, 30, 24, 18, 26, 34], [0.1, 0.14, 0.18, 0.15, 0.12, 0.09, 0.13, 0.17]
WORK = {"seconds": 40, "running": RUNNING, "kv": KV, "rate": 1, "prompt": 200, "output": 100}


def itl(base: float = 6.0, each: float = 0.2) -> list[float]:
    return [base + each * r for r in RUNNING]


def test_pauses_are_told_from_slow_steps() -> None:
    pauses = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(), "slow_tokens": [0.05, 700]})
    slow = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(36)})
    assert pauses["step.pauses"].strength >= 1.0
    assert pauses["step.residual"].strength < 0.3
    assert slow["step.pauses"].strength < 0


def test_a_gap_in_the_bucket_that_begins_just_below_the_line_is_a_pause() -> None:
    """vLLM's edges are 0.5 and 0.75 s; the line of this server lies between, the pauses of 0.6 s above it."""
    found = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(), "slow_tokens": [0.05, 600]})
    assert found["step.pauses"].strength >= 1.0

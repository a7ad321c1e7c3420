"""Since when steps are slower than their batch explains; load alone is no change."""

import numpy as np
import pytest

from states import state_of
from whystall.evidence.pace import late_by_pace, pace
from whystall.state.step_cost import step_rows

ARGV = ("vllm", "serve", "m", "--max-num-batched-tokens", "8192", "--num-gpu-blocks-override", "20000")
RUNNING, KV = [20, 28, 36, 30, 24, 18, 26, 34], [0.1, 0.14, 0.18, 0.15, 0.12, 0.09, 0.13, 0.17]
WORK = {"running": RUNNING, "kv": KV, "rate": 2, "prompt": 400, "output": 100}


def itl(base: float = 6.0, each: float = 0.2, running: list[int] = RUNNING) -> list[float]:
    return [base + each * r for r in running]


def calm(seconds: float, **changes: object) -> dict[str, object]:
    return {"seconds": seconds, **WORK, "itl_ms": itl(), **changes}


def test_slower_steps_of_the_same_batches_are_found_with_their_onset() -> None:
    found = pace(state_of(calm(40), calm(30, itl_ms=itl(24)), argv=ARGV))
    assert found is not None
    assert found.changed
    assert found.onset is not None
    assert found.onset.low <= 40 <= found.onset.high
    assert np.median(found.residual[45:]) == pytest.approx(np.log(30 / 12), abs=0.25)
    assert found.usual.sum() == pytest.approx(40, abs=1)


def test_ten_percent_slower_is_found_within_thirty_seconds() -> None:
    found = pace(state_of(calm(40), calm(30, itl_ms=[1.1 * x for x in itl()]), argv=ARGV))
    assert found is not None
    assert found.changed


def test_a_crowd_is_no_slower_step() -> None:
    more = [2 * r for r in RUNNING]
    found = pace(state_of(calm(40), calm(30, running=more, itl_ms=itl(running=more)), argv=ARGV))
    assert found is not None
    assert not found.changed


def test_noise_of_a_shared_machine_is_no_change() -> None:
    noise = np.random.default_rng(1).lognormal(0.0, 0.2, 8)
    noisy = [float(x * n) for x, n in zip(itl(), noise, strict=True)]
    found = pace(state_of(calm(80, itl_ms=noisy), argv=ARGV))
    assert found is not None
    assert not found.changed


def test_single_pauses_leave_steps_as_they_are() -> None:
    found = pace(state_of(calm(40), calm(30, slow_tokens=[0.02, 800]), argv=ARGV))
    assert found is not None
    assert not found.changed


def test_too_few_steps_tell_nothing() -> None:
    assert pace(state_of(calm(6), argv=ARGV)) is None


def test_a_known_baseline_tells_what_was_slow_from_the_start() -> None:
    known = step_rows(state_of(calm(40), argv=ARGV))
    slow = state_of(calm(20, itl_ms=itl(24)), argv=ARGV)
    alone, against = pace(slow), pace(slow, known)
    assert alone is not None
    assert not alone.changed
    assert against is not None
    assert against.changed
    assert against.onset is None  # it was there when the window began


def test_only_what_a_user_feels_is_late() -> None:
    quick = state_of(calm(40), calm(30, itl_ms=[1.3 * x for x in itl()]), argv=ARGV)
    slow = state_of(calm(40), calm(30, itl_ms=itl(24)), argv=ARGV)
    assert not late_by_pace(quick, pace(quick), 0.025).any()
    late = late_by_pace(slow, pace(slow), 0.025)
    assert late[45:65].all()
    assert not late[:38].any()


def test_a_batch_that_slower_steps_made_larger_is_their_loss() -> None:
    """Steps take 1.6 times as long at equal work and hold each request for longer: tokens come in 22 ms after 9.

    In the same batch nobody feels it.
    """
    before, larger = calm(40, itl_ms=itl(3, 0.22)), [int(1.7 * r) for r in RUNNING]
    slower = calm(40, running=larger, itl_ms=[1.6 * ms for ms in itl(3, 0.22, larger)])
    alike = calm(40, itl_ms=[1.6 * ms for ms in itl(3, 0.22)])
    grown, same = (state_of(before, phase, argv=ARGV) for phase in (slower, alike))
    assert late_by_pace(grown, pace(grown), 0.025)[50:].mean() > 0.8
    assert not late_by_pace(same, pace(same), 0.025).any()

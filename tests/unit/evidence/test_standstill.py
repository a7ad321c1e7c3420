import pytest

from scenes import scene_of
from states import blank, histogram
from whystall.evidence.smoothing import runs
from whystall.evidence.standstill import frozen_tokens, stalled


def test_a_standstill_is_in_flight_and_flat() -> None:
    stop = {"seconds": 6, "stopped": True}
    state = scene_of({}, stop, {}).state
    assert runs(stalled(state)) == [(20, 26)]
    assert not stalled(scene_of({}, {**stop, "running": 0}).state).any()  # idle
    assert not stalled(scene_of({}, {**stop, "seconds": 1}, {}).state).any()  # a long step


def test_a_standstill_between_two_scrapes_shows_in_the_tokens_that_waited() -> None:
    quiet, stopped = [0.01] * 400, [0.01] * 300 + [4.0] * 8
    itl = histogram([0.02, 0.1, 1.0, 2.5, 5.0], [quiet, stopped, quiet])
    seen = {"running_start": [8, 8, 8], "running_end": [8, 8, 8], "computed_tokens": [5000, 5000, 5000]}
    seen |= {"preemptions": [0, 0, 0]}
    limits = {"max_num_batched_tokens": 512}
    assert frozen_tokens(blank([5.0] * 3, limits, itl=itl, **seen)).tolist() == [False, True, False]
    # Preempted requests wait long by themselves, and a few late tokens among many requests are no standstill.
    assert not frozen_tokens(blank([5.0] * 3, limits, itl=itl, **(seen | {"preemptions": [0, 3, 0]}))).any()
    crowded = seen | {"running_start": [40, 40, 40], "running_end": [40, 40, 40]}
    assert not frozen_tokens(blank([5.0] * 3, limits, itl=itl, **crowded)).any()


def test_a_step_that_takes_as_long_as_its_prompts_is_no_standstill() -> None:
    """Two prompts of 8000 tokens that finish after eight silent seconds, at 2000 tokens a second, explain the silence."""
    long_step = {"seconds": 8, "stopped": True}
    busy = {"rate": 0.05, "prompt": 8000, "seconds": 24}
    argv = ["vllm", "serve", "m", "--max-num-batched-tokens", "16384"]
    done = {"rate": 2.0, "prompt": 8000, "seconds": 1}
    assert not stalled(scene_of(busy, long_step, done, busy, argv=argv).state).any()
    assert stalled(scene_of(busy, {**long_step, "seconds": 25}, busy, argv=argv).state).any()


WAITS = (
    "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes hang."
)
IDLE = {"seconds": 60, "running": 0, "stopped": True}


def test_an_engine_that_hangs_while_idle_is_told_by_a_process_that_waits_for_it() -> None:
    """Gauges stay at zero, as on any idle server: from the last token at second 20 on, if the log says so at 65."""
    assert runs(stalled(scene_of({}, IDLE, log=[(65, WAITS)]).state)) == [(20, 80)]
    assert not stalled(scene_of({}, IDLE).state).any()


@pytest.mark.parametrize(
    ("phases", "said_s"),
    [(({}, IDLE), 45), (({}, IDLE, {"seconds": 5}), 65), (({}, IDLE, {}, {**IDLE, "seconds": 20}), 65)],
    ids=["said within 30 s of the last token", "works again", "works again and is idle"],
)
def test_a_line_before_which_or_after_which_the_engine_works_is_no_hang(phases: tuple, said_s: float) -> None:
    assert not stalled(scene_of(*phases, log=[(said_s, WAITS)]).state).any()


def test_a_line_after_few_requests_is_no_hang() -> None:
    """One in ten seconds came before: that none comes in the next minute is no wonder."""
    assert not stalled(scene_of({"rate": 0.1}, IDLE, log=[(65, WAITS)]).state).any()

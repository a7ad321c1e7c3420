import pytest

from scenes import evidence_of, scene_of
from whystall.evidence.families import collect
from whystall.evidence.thresholds import level, ramp

QUEUE = {"seconds": 30, "waiting": 40, "queue_s": 8}


def strength(id: str, *phases: dict, **case: object) -> float:
    return evidence_of(*phases, **case)[id].strength


def test_a_wait_speaks_from_where_it_is_felt() -> None:
    assert strength("queue.delay", QUEUE) == 1.5
    assert strength("queue.delay", {}) < 0


def test_a_growing_queue_is_told_from_a_long_one() -> None:
    growing = {**QUEUE, "waiting": list(range(0, 60, 2))}
    assert strength("queue.growing", growing) >= 1
    assert strength("queue.growing", QUEUE) < 0


@pytest.mark.parametrize(("kv", "sign"), [(0.99, 1), (0.3, -1)])
def test_blocks_bind_where_the_next_prompt_does_not_fit(kv: float, sign: int) -> None:
    assert strength("kv.saturated", {**QUEUE, "kv": kv}) * sign > 0.2


def test_blocks_bind_below_full_use_where_prompts_are_long() -> None:
    """600 free blocks hold 9,600 tokens, less than one prompt: usage 0.97 of a pool of 20,000 blocks."""
    assert strength("kv.saturated", {**QUEUE, "kv": 0.955, "prompt": 16000}) > 0.5
    assert strength("kv.saturated", {**QUEUE, "kv": 0.955, "prompt": 100}) < 0


def test_preemptions_speak_by_their_rate() -> None:
    assert strength("kv.preemptions", {**QUEUE, "kv": 0.99, "preemptions": 2.0}) > 0.5
    assert strength("kv.preemptions", {**QUEUE}) <= 0


def test_seats_are_full_at_the_limit_and_nowhere_else() -> None:
    assert strength("seats.full", {**QUEUE, "running": 64}) >= 1
    assert strength("seats.full", {**QUEUE, "running": 40}) < 0


def test_refusals_speak_by_their_share() -> None:
    assert strength("queue.refused", {**QUEUE, "refused": 4.0}) > 0.5
    assert strength("queue.refused", QUEUE) < 0


def test_the_budget_is_full_where_steps_hold_it() -> None:
    full = {**QUEUE, "rate": 8.0, "prompt": 4096, "steps": 4.0, "itl_ms": 250, "running": 4}
    assert strength("budget.full", full) > 0
    assert strength("budget.full", QUEUE) < 0


def test_what_is_not_on_the_page_gives_no_evidence() -> None:
    found = evidence_of({"rate": 0.0, "running": 0, "seconds": 10})
    assert "queue.growing" not in found


def test_an_idle_gpu_is_at_no_ceiling_whatever_a_step_holds() -> None:
    full = {**QUEUE, "rate": 40, "prompt": 3000, "steps": 80}
    gpu = {"power": 300, "name": "NVIDIA H200"}
    assert strength("prefill.ceiling", {**full, "gpu": {**gpu, "util": 0.9}}) > 1
    found = evidence_of({**full, "gpu": {**gpu, "util": 0.2}})["prefill.ceiling"]
    assert found.strength < -0.5
    assert found.text.en.endswith("but the GPU is idle 80% of the time")


@pytest.mark.parametrize(("name", "bound"), [("kv.saturated", {"kv": 0.99}), ("seats.full", {"running": 64})])
def test_a_limit_explains_what_waits_for_it_fill_of_the_incident(name: str, bound: dict) -> None:
    """Late tokens fill 80 s. The limit binds in all of the wait: of 4 s, which explains little, or of all the time."""
    late = {"seconds": 38, "itl_ms": 60, "running": 20}
    wait = {"itl_ms": 60, "running": 20, "waiting": 20, "queue_s": 4, **bound}
    short, whole = evidence_of({}, late, {**wait, "seconds": 4}, late), evidence_of({}, {**wait, "seconds": 80})
    assert short[name].value == whole[name].value == 1
    assert 0 < short[name].strength < 0.3
    assert whole[name].strength == 1.5


def test_blocks_that_push_requests_out_need_no_queue_to_weigh() -> None:
    late = {"seconds": 38, "itl_ms": 60, "running": 20}
    wait = {**late, "seconds": 4, "waiting": 20, "queue_s": 4, "kv": 0.99}
    assert strength("kv.saturated", {}, late, wait, late) < 0.3
    assert strength("kv.saturated", {}, {**late, "preemptions": 1.0}, wait, late) > 1


def test_prefill_that_slower_steps_make_long_is_no_lack_of_capacity() -> None:
    """What the steps of before took for the same prompts counts, where steps are surely slower, and the text says so."""
    running, kv = [20, 28, 36, 30, 24, 18, 26, 34], [0.1, 0.14, 0.18, 0.15, 0.12, 0.09, 0.13, 0.17]
    step = [6 + 0.2 * r for r in running]
    work = {"seconds": 40, "running": running, "kv": kv, "rate": 2, "prompt": 400, "output": 100}
    scene = scene_of({**work, "itl_ms": step, "rate": 0.2}, {**work, "itl_ms": [4 * ms for ms in step]})
    assert scene.surely_slower
    found = collect(scene)["prefill.busy"]
    own = found.value / scene.slowdown
    assert found.value > 2 * own
    assert found.strength == pytest.approx(ramp(own, level("prefill_busy") - 0.25, level("prefill_busy") + 0.1))
    assert found.text.en.endswith(f"; at the speed of before it would take {own:.0%}")
    assert "at the speed of before" not in evidence_of(QUEUE)["prefill.busy"].text.en

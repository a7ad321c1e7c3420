"""Slower steps or more work, every step or single pauses, and what an excess grows with."""

import pytest

from scenes import evidence_of, scene_of
from whystall.evidence.families import collect

RUNNING, KV = [20, 28, 36, 30, 24, 18, 26, 34], [0.1, 0.14, 0.18, 0.15, 0.12, 0.09, 0.13, 0.17]
WORK = {"seconds": 40, "running": RUNNING, "kv": KV, "rate": 1, "prompt": 200, "output": 100}


def itl(base: float = 6.0, each: float = 0.2) -> list[float]:
    return [base + each * r for r in RUNNING]


def test_slower_steps_say_by_how_much_and_since_when() -> None:
    found = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(36)})["step.residual"]
    assert found.value == pytest.approx(42 / 11.6, rel=0.15)
    assert found.strength >= 1.0
    assert found.anomaly
    assert found.onset is not None
    assert abs(found.onset.seconds - 40) <= 1


def test_a_queue_with_steps_as_ever_exonerates_them() -> None:
    queued = {**WORK, "itl_ms": itl(), "waiting": 20, "queue_s": 3.0}
    assert evidence_of({**WORK, "itl_ms": itl()}, queued)["step.residual"].strength <= -0.5


@pytest.mark.parametrize(
    ("slow", "most"), [(itl(36), "excess.each_step"), (itl(6.0, 1.4), "excess.by_sequences")], ids=["each", "sequences"]
)
def test_the_excess_says_what_it_grows_with(slow: list[float], most: str) -> None:
    found = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": slow})
    shares = {name: e.value for name, e in found.items() if name.startswith("excess.")}
    assert max(shares, key=lambda name: shares[name] or 0.0) == most
    assert sum(value or 0.0 for value in shares.values()) == pytest.approx(1.0)


def test_one_batch_cannot_tell_what_it_grows_with() -> None:
    one = {**WORK, "running": 24, "kv": 0.1}
    found = evidence_of({**one, "itl_ms": 11}, {**one, "itl_ms": 44})
    assert found["step.residual"].strength > 0.3
    assert not [name for name in found if name.startswith("excess.")]


def test_mean_and_median_are_both_told() -> None:
    found = evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl(36)})["itl.median"]
    assert found.strength > 0.3
    assert "the mean is" in found.text.en


def test_a_tenth_more_a_step_is_an_anomaly_and_no_incident() -> None:
    """A regression is told while it is too small to be felt: nothing hurts, and it says since when."""
    scene = scene_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": [1.1 * ms for ms in itl()]})
    found = collect(scene)
    assert not scene.focus.hurts
    assert found["step.slower"].value == pytest.approx(1.1, abs=0.03)
    assert found["step.slower"].anomaly
    assert found["step.slower"].onset is not None
    assert abs(found["step.slower"].onset.seconds - 40) <= 2
    assert found["step.slower"].strength == 0  # no cause gains by it


def test_slower_steps_beside_another_loss_are_told() -> None:
    queue = {**WORK, "seconds": 10, "itl_ms": itl(), "waiting": 30, "queue_s": 3.0}
    slower = {**WORK, "itl_ms": [1.1 * x for x in itl()]}
    scene = scene_of({**WORK, "itl_ms": itl()}, queue, slower)
    found = collect(scene)
    assert scene.focus.hurts
    assert not found["step.residual"].anomaly
    assert found["step.slower"].anomaly
    assert found["step.slower"].strength == 0
    assert "nobody" not in found["step.slower"].text.en


def test_steps_as_ever_are_no_anomaly() -> None:
    assert "step.slower" not in evidence_of({**WORK, "itl_ms": itl()}, {**WORK, "itl_ms": itl()})


def test_an_excess_is_the_gpus_or_the_hosts_by_the_gpus_own_time_a_step() -> None:
    """Steps of 11 ms become 44 ms: with the GPU as busy as before it works four times as long, else no longer."""
    before = {**WORK, "itl_ms": 11, "gpu": {"util": 0.96}}
    kernels = evidence_of(before, {**WORK, "itl_ms": 44, "gpu": {"util": 0.96}})["step.on_gpu"]
    host = evidence_of(before, {**WORK, "itl_ms": 44, "gpu": {"util": 0.24}})["step.on_gpu"]
    assert kernels.value == pytest.approx(1.0, abs=0.1)
    assert kernels.strength >= 0.9
    assert host.value == pytest.approx(0.0, abs=0.1)
    assert host.strength <= -0.9


def test_without_a_gpus_samples_nobody_says_whose_time_it_is() -> None:
    assert "step.on_gpu" not in evidence_of({**WORK, "itl_ms": 11}, {**WORK, "itl_ms": 44})

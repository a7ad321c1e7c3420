from __future__ import annotations

import pytest

from scenes import ARGV, evidence_of


@pytest.mark.parametrize(("aside", "sign"), [(0.95, 1), (0.05, -1)])
def test_the_share_that_was_set_aside(aside: float, sign: int) -> None:
    found = evidence_of({"waiting": 10, "deferred": aside, "queue_s": 2.0})["queue.deferred"]
    assert found.value == pytest.approx(aside)
    assert found.strength * sign > 0


def test_a_wait_for_something_else_is_a_sign_and_its_absence_is_none() -> None:
    assert evidence_of({"waiting": 10, "deferred": 0.95, "queue_s": 2.0})["wait.aside"].strength > 0
    assert "wait.aside" not in evidence_of({"waiting": 10, "deferred": 0.05, "queue_s": 2.0})


def test_an_empty_queue_sets_nobody_aside() -> None:
    found = evidence_of({})["queue.deferred"]
    assert (found.value, found.strength) == (0.0, -0.5)


@pytest.mark.parametrize(("flags", "strength"), [(["--enable-lora"], 1.0), ([], -1.0)])
def test_whether_adapters_are_on(flags: list[str], strength: float) -> None:
    assert evidence_of({}, argv=[*ARGV, *flags])["config.lora"].strength == strength


def test_unknown_arguments_say_nothing_of_adapters() -> None:
    assert "config.lora" not in evidence_of({}, argv=[])


@pytest.mark.parametrize(("aside", "felt"), [(0.05, True), (0.0005, False)])
def test_those_set_aside_are_felt_beside_a_longer_queue_for_capacity(aside: float, felt: bool) -> None:
    """Four of eighty that wait, at two admissions a second, wait for two seconds."""
    found = evidence_of({"waiting": 80, "deferred": aside, "queue_s": 20.0, "rate": 2})
    assert (found["queue.deferred"].strength > 0.3) == felt
    assert "wait.aside" not in found  # the queue itself waits for capacity

import pytest

from scenes import evidence_of

WORK = {"seconds": 30, "rate": 0.1}


def test_prompts_that_hold_up_decoding_are_told_from_slow_steps() -> None:
    """The same mean ITL: with prompts in the slow intervals it is theirs, without them it is not."""
    heavy = {"seconds": 30, "itl_ms": 60, "rate": 4.0, "prompt": 4000, "steps": 10.0}
    slow = {"seconds": 30, "itl_ms": 60, "rate": 0.1}
    assert evidence_of(WORK, heavy)["itl.mixed_steps"].strength > 0.3
    assert evidence_of(WORK, slow)["itl.mixed_steps"].strength <= 0


def test_single_freezes_show_in_the_tail_only() -> None:
    assert evidence_of({**WORK, "slow_tokens": [0.001, 2500]})["itl.frozen"].strength > 0.5
    assert evidence_of(WORK)["itl.frozen"].strength < 0


def test_the_front_end_is_what_is_left_of_ttft() -> None:
    assert evidence_of({"seconds": 30, "front_s": 0.7})["front.residual"].strength >= 1
    assert evidence_of({"seconds": 30})["front.residual"].strength < 0


def test_an_idle_gpu_under_steps_is_the_hosts_doing() -> None:
    idle = {"seconds": 30, "gpu": {"util": 0.15}}
    assert evidence_of({**idle, "itl_ms": 15})["step.host_gap"].strength >= 1
    assert evidence_of({**idle, "itl_ms": 3})["step.host_gap"].strength == 0  # tokens that come at once are no loss
    assert evidence_of({"seconds": 30, "gpu": {"util": 0.98}})["step.host_gap"].strength < 0
    assert "step.host_gap" not in evidence_of({"seconds": 30})


def test_an_idle_gpu_between_requests_is_demand() -> None:
    assert evidence_of({"seconds": 30, "gpu": {"util": 0.15}, "steps": 10.0})["step.host_gap"].strength < 0


def test_a_gpus_idle_fifth_is_worth_naming_where_tokens_are_late_and_not_where_they_come_in_time() -> None:
    idle = {"seconds": 30, "gpu": {"util": 0.72}}
    assert evidence_of({**idle, "itl_ms": 40})["step.host_gap"].strength >= 0.3
    assert evidence_of({**idle, "itl_ms": 10})["step.host_gap"].strength < 0.3


def test_first_tokens_against_those_before() -> None:
    found = evidence_of({"seconds": 40, "rate": 3, "prefill_s": 0.08}, {"seconds": 40, "rate": 3, "prefill_s": 0.6})
    assert found["ttft.grown"].strength > 0.3
    assert "times the" in found["ttft.grown"].text.en
    assert "ttft.grown" not in evidence_of({"seconds": 40, "rate": 3, "prefill_s": 0.6})


def test_others_prompts_that_make_first_tokens_late_count_though_tokens_come_in_time() -> None:
    """Steps of 18 ms are not felt; who arrives waits for the step under way all the same."""
    calm = {"seconds": 40, "rate": 4, "prompt": 200}
    stretched = {**calm, "prompt": 3000, "itl_ms": 18, "steps": 30.0}
    late, soon = (evidence_of(calm, {**stretched, "prefill_s": s})["itl.mixed_steps"] for s in (0.9, 0.05))
    assert late.value == pytest.approx(2.1, abs=0.1)
    assert late.strength > 0.5
    assert soon.strength == pytest.approx(-0.3)


def test_late_first_tokens_are_not_the_prompts_where_the_lost_time_is_not() -> None:
    calm = {"seconds": 40, "rate": 4, "prompt": 200}
    slower = {**calm, "itl_ms": 18, "prefill_s": 0.9}
    assert evidence_of(calm, slower)["itl.mixed_steps"].strength == pytest.approx(-0.3)


def test_prompts_that_cost_more_at_first_than_later_do_not_hold_tokens_up_by_themselves() -> None:
    """The same prompts from the start on: for 30 s each takes the engine a second, afterwards none does."""
    dear = {"seconds": 30, "rate": 1, "prompt": 3000, "itl_ms": [900, 20, 20], "steps": 12}
    cheap = {**dear, "itl_ms": [21, 20, 20], "steps": 47}
    assert evidence_of(dear, {**cheap, "seconds": 60})["itl.mixed_steps"].strength <= 0.3
    assert evidence_of({**dear, "seconds": 90})["itl.mixed_steps"].strength > 0.5

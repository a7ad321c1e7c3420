"""Harm that one block shows: failures, and what got half as much worse again as was foreseen."""

from __future__ import annotations

import pytest

from loop_scenes import prediction
from whystall.loop.first_harm import first_harm
from whystall.model.slo import Slo
from whystall.model.trial import Block


def block(arm: str, failed: int = 0, **figures: float) -> Block:
    usual = {"e2e_mean": 2.0, "ttft_mean": 1.0, "itl_mean": 0.05, "tokens_per_s": 1000.0}
    return Block(0, arm, 0.0, 30.0, 200, failed, usual | figures)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("after", "says"),
    [
        ({}, ""),
        ({"ttft_mean": 1.4}, ""),
        ({"ttft_mean": 1.6}, "mean TTFT is 60% worse"),
        ({"tokens_per_s": 600.0}, "throughput is 67% worse"),
        ({"tokens_per_s": 1500.0}, ""),
        ({"itl_mean": 0.08}, "mean ITL is 60% worse"),
        ({"failed": 3}, ""),
        ({"failed": 6}, "3.0% of a block's requests fail"),
    ],
)
def test_plain_harm(after: dict, says: str) -> None:
    found = first_harm(None)(block("a"), block("b", **after))
    assert (says in found.en) if says and found else (found is None and not says)


def test_a_server_that_refuses_a_third_refuses_some_more_by_chance() -> None:
    before = block("a", failed=60)
    assert first_harm(None)(before, block("b", failed=80)) is None
    assert first_harm(None)(before, block("b", failed=120)) is not None


def test_what_nobody_feels_is_no_harm() -> None:
    stop = first_harm(None)
    assert stop(block("a", ttft_mean=0.01, itl_mean=0.005), block("b", ttft_mean=0.19, itl_mean=0.024)) is None
    assert stop(block("a", ttft_mean=0.01), block("b", ttft_mean=0.5)) is not None


def test_what_was_foreseen_is_allowed_for() -> None:
    foreseen = first_harm(prediction(itl_mean=(0.2, 0.8)))
    assert foreseen(block("a"), block("b", itl_mean=0.1)) is None  # 80% were foreseen, and half as much again
    assert foreseen(block("a"), block("b", itl_mean=0.2)) is not None


def test_a_missing_figure_says_nothing() -> None:
    assert first_harm(None)(block("a", ttft_mean=0.0), block("b", ttft_mean=9.0)) is None


def test_what_was_promised_is_no_harm() -> None:
    after = block("b", e2e_mean=4.5)
    assert first_harm(None)(block("a"), after) is not None
    assert first_harm(None, Slo(e2e_p95_s=10.0))(block("a"), after) is None
    assert first_harm(None, Slo(ttft_p95_s=10.0))(block("a"), after) is not None


def test_slower_tokens_of_answers_that_are_there_plainly_sooner_end_nothing() -> None:
    slower = block("b", itl_mean=0.09, e2e_mean=1.0)
    assert first_harm(None)(block("a"), slower) is None
    assert first_harm(None)(block("a"), block("b", itl_mean=0.09, e2e_mean=1.8)) is not None
    more = {"itl_mean": 0.09, "e2e_mean": 1.95, "tokens_per_s": 1500.0}
    assert first_harm(None)(block("a"), block("b", **more)) is None
    assert first_harm(None)(block("a"), block("b", **(more | {"e2e_mean": 2.1}))) is not None
    assert first_harm(None)(block("a"), block("b", itl_mean=0.25, e2e_mean=1.0)) is not None  # a pause
    assert first_harm(None, Slo(itl_p95_s=0.05))(block("a"), slower) is not None

"""Exchanges become a block's columns; a usage line gives the tokens."""

import math

import numpy as np
import pytest

from whystall.trials.live_arm import block_result
from whystall.trials.load.exchange import Exchange


def exchange(intended: float, chunks: tuple[float, ...], **more: object) -> Exchange:
    plain: dict[str, object] = {"sent": intended + 0.1, "ended": chunks[-1] if chunks else intended + 5.0}
    plain |= {"prompt_tokens": 10, "output_tokens": len(chunks)}
    return Exchange(intended=intended, chunks=chunks, **(plain | more))  # type: ignore[arg-type]


def test_latency_counts_from_the_intended_moment() -> None:
    late = exchange(100.0, (101.0, 101.5, 102.0), sent=100.8)
    result = block_result([late], 100.0, 10.0, 112.0)
    assert result.ttft_s.tolist() == [1.0]
    assert result.e2e_s.tolist() == [2.0]
    assert result.mean_gap_s.tolist() == [0.5]
    assert result.drained_s == 2.0
    row = late.row()
    assert row.ttft == pytest.approx(0.2)  # a row counts from the sending and holds both moments
    assert (row.intended, row.sent) == (100.0, 100.8)


def test_failed_cut_and_whole_requests_are_told_apart() -> None:
    seen = [
        exchange(102.0, (), error="http 503", output_tokens=0),
        exchange(100.0, (100.5, 101.0)),
        exchange(101.0, (), cut=True, ended=120.0, output_tokens=0),
    ]
    result = block_result(seen, 100.0, 10.0, 120.0)
    assert result.intended_s.tolist() == [0.0, 1.0, 2.0]
    assert result.failed.tolist() == [False, False, True]
    assert result.cut.tolist() == [False, True, False]
    assert result.ttft_s[:2].tolist() == [0.5, 19.0]
    assert math.isnan(result.e2e_s[2])
    assert result.figures()["errors"] == pytest.approx(1 / 3)
    assert result.in_flight == pytest.approx((1.0 + 9.0) / 10)


def test_tokens_are_spread_over_the_pieces_they_came_in() -> None:
    result = block_result([exchange(0.0, (1.0, 2.0), output_tokens=8)], 0.0, 1.5, 2.0)
    assert result.tokens_n.tolist() == [4.0, 4.0]
    assert result.figures()["tokens_per_s"] == pytest.approx(4 / 1.5)


def test_nothing_sent_is_nothing_seen() -> None:
    result = block_result([], 0.0, 10.0, 10.0)
    assert result.requests == 0
    assert {value for key, value in result.figures().items() if key != "tokens_per_s"} == {None}
    assert np.isfinite(result.in_flight)

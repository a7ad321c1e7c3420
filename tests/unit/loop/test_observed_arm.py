"""A block that is only looked at has the means that its requests had."""

from __future__ import annotations

import numpy as np
import pytest

from loop_scenes import few_seats
from whystall.loop.observed_arm import LEAST_REQUESTS, ObservedArm, seen_block
from whystall.model.trial import TrialArm
from whystall.trials.load.trace import Trace


async def nothing() -> None:
    """For arms that need no preparing."""


async def test_the_counters_say_what_the_clients_saw() -> None:
    target = few_seats()
    await target.look(10)
    recording = await target.look(30)
    block = seen_block(recording)
    client = recording.client
    assert client is not None
    inside = (client.sent >= block.started) & np.isfinite(client.ttft_s)
    figures = block.figures()
    assert figures["ttft_mean"] == pytest.approx(float(np.mean(client.ttft_s[inside])), rel=0.1)
    assert figures["e2e_mean"] == pytest.approx(float(np.mean(client.e2e_s[inside])), rel=0.1)
    assert block.requests == pytest.approx(len(client.sent[inside]), rel=0.15)
    assert block.in_flight == pytest.approx(8, abs=0.5)
    assert figures["errors"] == 0.0
    assert block.seconds == pytest.approx(30.0)


async def test_a_thin_block_has_no_latency() -> None:
    target = few_seats()
    await target.look(5)
    block = seen_block(await target.look(1.0))
    assert block.requests < LEAST_REQUESTS
    figures = block.figures()
    assert figures["ttft_mean"] is None
    assert figures["tokens_per_s"] is not None


async def test_a_block_is_as_long_as_the_trace() -> None:
    target = few_seats()
    arm = ObservedArm(TrialArm("x"), nothing, target.look)
    block = await arm.block(Trace(seconds=12.0, arrivals=()), 99.0)
    assert block.seconds == pytest.approx(12.0)
    assert arm.now == pytest.approx(target.now)

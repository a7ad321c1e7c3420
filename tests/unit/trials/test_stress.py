"""The capacity of an emulated engine, whose limit is known."""

import numpy as np
import pytest

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import Arrival, LengthClass
from whystall.emulator.profiles import load_profile
from whystall.errors import UsageError
from whystall.model.slo import Slo
from whystall.trials.emulated_arm import EmulatedArm, VirtualTime
from whystall.trials.load.plan import LoadPlan
from whystall.trials.stress import StressSpec, find_capacity, judged, queue_grows

PROFILE = load_profile("h200-8b")
MIX = (LengthClass(1.0, (200, 200), (100, 100)),)
SLO = Slo(ttft_p95_s=0.5)


def arm(seats: int) -> EmulatedArm:
    options = EngineOptions(num_gpu_blocks=20000, max_num_seqs=seats, async_scheduling=True)
    return EmulatedArm(options, PROFILE, VirtualTime())


def spec(**changes: object) -> StressSpec:
    return StressSpec(**{"plan": LoadPlan(mix=MIX, rate=1.0), "slo": SLO, **changes})  # type: ignore[arg-type]


async def test_the_capacity_of_four_seats_is_four_requests_in_the_time_of_one() -> None:
    alone = await arm(4).block(LoadPlan(mix=MIX, rate=0.5).trace(60, seed=1), 60.0)
    most = 4 / float(np.median(alone.e2e_s))
    told: list[str] = []
    found = await find_capacity(arm(4), spec(), told.append)
    assert found.rate is not None
    assert found.fails_at is not None
    assert 0.5 * most < found.rate < found.fails_at < 1.15 * most
    assert found.fails_at <= 1.1 * found.rate
    assert len(told) == len(found.points)
    assert all(point.requests >= 200 for point in found.points)
    more = await find_capacity(arm(8), spec(first_rate=found.rate), told.append)
    assert 1.5 * found.rate < (more.rate or 0) < 3 * found.rate


async def test_it_comes_down_from_a_rate_that_is_too_high() -> None:
    up = await find_capacity(arm(4), spec(), print)
    down = await find_capacity(arm(4), spec(first_rate=64.0), print)
    assert down.points[0].verdict == "fails"
    assert down.rate == pytest.approx(up.rate, rel=0.35)  # the bounds of each are within 10%, and chance moves them


async def test_a_time_that_is_too_short_is_said() -> None:
    found = await find_capacity(arm(4), spec(budget_s=350.0), print)
    assert found.fails_at is None
    assert "time was up" in found.because.en
    assert found.seconds <= 450


async def test_a_closed_loop_has_no_rate() -> None:
    with pytest.raises(UsageError, match="closed loop"):
        await find_capacity(arm(4), spec(plan=LoadPlan(mix=MIX, clients=3)), print)


async def test_a_recorded_trace_is_played_faster() -> None:
    recorded = tuple(Arrival(k * 0.5, 200, 100) for k in range(400))
    found = await find_capacity(arm(4), spec(plan=LoadPlan(recorded=recorded), first_rate=2.0), print)
    assert found.rate is not None
    assert "recorded" in found.load


async def test_a_growing_queue_fails_a_rate_that_its_slo_would_pass() -> None:
    lax = spec(slo=Slo(ttft_p95_s=1000.0))
    over = await arm(2).block(LoadPlan(mix=MIX, rate=20).trace(60, seed=1), 600.0)
    point = judged(20.0, over, 5.0, lax)
    assert (point.verdict, point.broken, point.attainment) == ("fails", ("queue",), 1.0)
    under = await arm(64).block(LoadPlan(mix=MIX, rate=20).trace(60, seed=1), 600.0)
    assert not queue_grows(under, 5.0)

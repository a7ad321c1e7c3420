"""Hours in virtual time: what stays is steady, what leaks is found."""

import math
import random
from collections.abc import Callable

import pytest

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.model.slo import Slo
from whystall.model.soak import Soak, SoakWindow
from whystall.trials.emulated_arm import EmulatedArm, VirtualTime
from whystall.trials.load.plan import LoadPlan
from whystall.trials.soak import SoakSpec, soak, summarise

OPTIONS = EngineOptions(num_gpu_blocks=20000, max_num_seqs=1024, async_scheduling=True)
PLAN = LoadPlan(mix=(LengthClass(1.0, (200, 400), (50, 100)),), rate=8)
START = 1_790_000_000.0


async def soaked(
    drift: Callable[[float], float] | None = None, options: EngineOptions = OPTIONS, seconds: float = 3600.0
) -> tuple[Soak, list[str]]:
    told: list[str] = []
    arm = EmulatedArm(options, load_profile("h200-8b"), VirtualTime(START), drift=drift)
    spec = SoakSpec(plan=PLAN, seconds=seconds, window_s=120.0, slo=Slo(ttft_p95_s=1.0))
    return await soak(arm, spec, told.append), told


async def test_an_hour_of_the_same_is_steady() -> None:
    found, told = await soaked(lambda t: math.exp(0.1 * math.sin((t - START) / 300)))
    assert found.verdict == "steady"
    assert found.attainment == 1.0
    assert len(told) == len(found.windows) == pytest.approx(30, abs=2)
    assert found.requests == pytest.approx(8 * 3600, rel=0.05)
    assert {trend.metric for trend in found.trends} >= {"ttft_p95", "itl_p95", "e2e_p95", "tokens_per_s"}


async def test_what_gets_slower_by_the_hour_is_worse_and_says_by_how_much() -> None:
    found, _ = await soaked(lambda t: 1 + (t - START) / 3600)
    assert found.verdict == "worse"
    trend = next(trend for trend in found.trends if trend.metric == "e2e_p95")
    assert (trend.low or 0) > 0.2
    assert 0.3 < (trend.mid or 0) < 0.9
    assert (trend.worst_at or 0) > START + 1800
    assert "E2E p95" in found.because.en


async def test_refusals_are_failing() -> None:
    options = EngineOptions(num_gpu_blocks=20000, max_model_len=420, async_scheduling=True)
    found, _ = await soaked(options=options)
    assert found.verdict == "failing"
    assert found.failed > 0.01 * found.requests


async def test_a_few_minutes_are_too_short() -> None:
    found, _ = await soaked(seconds=400.0)
    assert found.verdict == "too short"
    assert all(trend.mid is None and trend.worst is not None for trend in found.trends)


async def test_noise_that_could_hide_a_trend_is_no_steadiness() -> None:
    found, _ = await soaked(lambda t: math.exp(random.Random(int(t // 125)).gauss(0, 0.4)))
    assert found.verdict == "unclear"
    assert "rule it out for" in found.because.en
    assert "E2E p95" in found.because.en


async def test_what_nobody_feels_does_not_get_worse() -> None:
    ttft = [0.01, 0.012, 0.011, 0.05, 0.06, 0.05]
    windows = [SoakWindow(START + 60 * k, 60.0, 500, 0, {"ttft_p95": value}) for k, value in enumerate(ttft)]
    spec = SoakSpec(plan=PLAN, seconds=360.0, window_s=60.0)
    found = summarise("t", windows, [], spec, 360.0)
    assert found.verdict == "steady"
    assert (found.trends[0].low or 0) > 1.0  # it is shown all the same
    felt = [SoakWindow(w.started, 60.0, 500, 0, {"ttft_p95": 100 * (w.figures["ttft_p95"] or 0)}) for w in windows]
    assert summarise("t", felt, [], spec, 360.0).verdict == "worse"

"""A trial of two emulated servers over HTTP, on a clock that is faster than ours."""

from __future__ import annotations

from typing import Any

from emulated import emulator
from whystall.emulator.engine.workload import LengthClass
from whystall.model.trial import Trial
from whystall.trials.live_arm import live_arm
from whystall.trials.load.plan import LoadPlan
from whystall.trials.rules import Rules
from whystall.trials.trial import TrialSpec, run_trial

SPEED = 8.0
PLAN = LoadPlan(mix=(LengthClass(1.0, (50, 90), (20, 40)),), rate=6)
RULES = Rules(demand_guards=False)
FEW_SEATS = {"max_num_seqs": 1}


async def tried(a: dict[str, Any], b: dict[str, Any], rules: Rules = RULES) -> Trial:
    async with (
        emulator(speed=SPEED, **a) as (url_a, _),
        emulator(speed=SPEED, **b) as (url_b, _),
        live_arm(url_a) as arm_a,
        live_arm(url_b) as arm_b,
    ):
        return await run_trial(arm_a, arm_b, TrialSpec(plan=PLAN, rules=rules, budget_s=600, block_s=12))


async def test_a_real_improvement_wins() -> None:
    trial = await tried(FEW_SEATS, {})
    assert trial.verdict == "WIN", trial.because
    effect = trial.effect("e2e_mean")
    assert effect is not None
    assert (effect.high or 0) < -0.05
    assert trial.a.target != trial.b.target


async def test_a_worse_server_is_harm() -> None:
    trial = await tried({}, FEW_SEATS)
    assert trial.verdict == "HARM", trial.because


async def test_the_same_server_twice_is_no_win() -> None:
    async with emulator(speed=SPEED) as (url, deployment), live_arm(url) as one, live_arm(url) as two:
        trial = await run_trial(one, two, TrialSpec(plan=PLAN, rules=RULES, budget_s=600, block_s=12))
        scheduler = deployment.replicas[0].engine.scheduler
    assert trial.verdict == "FUTILE", trial.because
    assert scheduler.prefix_hits == 0  # no block's prompts were in the cache from another's

"""A trial of two emulated servers over HTTP, on a clock that is faster than ours."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from emulated import emulator
from whystall.emulator.engine.workload import LengthClass
from whystall.model.trial import Trial
from whystall.trials.agreement import PROMPTS, token_agreement
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


async def test_greedy_answers_of_one_model_agree_and_of_two_do_not() -> None:
    async with (
        emulator(speed=SPEED) as (url_a, _),
        emulator(speed=SPEED) as (url_b, _),
        live_arm(url_a) as a,
        live_arm(url_b) as b,
    ):
        same = await token_agreement(a, b)
        assert (same.identical, same.leading_ratio, same.baseline_ratio) == (PROMPTS, 1.0, 1.0)
    async with (
        emulator(speed=SPEED) as (url_a, _),
        emulator(speed=SPEED, name="other") as (url_b, _),
        live_arm(url_a) as a,
        live_arm(url_b) as b,
    ):
        other = await token_agreement(a, b)
        trial = await run_trial(a, b, TrialSpec(plan=PLAN), agreement=other)
    assert other.identical == 0
    assert (trial.verdict, trial.blocks) == ("HARM", ())
    assert "answers otherwise" in trial.because.en


async def test_the_verb_says_it_all() -> None:
    options = ["--rate", "6", "--prompt", "50-90", "--output-tokens", "20-40", "--block", "12s", "--guards", "watch"]
    async with emulator(speed=SPEED, **FEW_SEATS) as (url_a, _), emulator(speed=SPEED) as (url_b, _):
        command = [
            sys.executable,
            "-m",
            "whystall",
            "trial",
            "--a",
            url_a,
            "--b",
            url_b,
            "--send-load",
            "--json",
            *options,
        ]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
        )
        out, err = await process.communicate()
    body = json.loads(out)
    assert (process.returncode, body["verdict"]) == (0, "WIN"), body["because"]
    assert "will send to" in err.decode()
    assert len(body["blocks"]) == 2 * body["pairs"]
    assert {finding["id"] for finding in body["findings"]} >= {"fast_clock"}

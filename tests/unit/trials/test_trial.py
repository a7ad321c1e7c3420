"""The whole run in virtual time: what is better wins, what is worse is harm, what is the same is found to be."""

import asyncio
import math
import random
from collections.abc import Callable

import numpy as np
import pytest

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import Arrival, LengthClass
from whystall.emulator.profiles import load_profile
from whystall.errors import Unavailable, UsageError
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.model.trial import Block, Trial, TrialArm
from whystall.trials.blocks import BlockResult, weighted_quantile
from whystall.trials.emulated_arm import EmulatedArm, VirtualTime
from whystall.trials.load.plan import LoadPlan
from whystall.trials.load.trace import Trace
from whystall.trials.rules import Rules
from whystall.trials.trial import TrialSpec, run_trial

PROFILE = load_profile("h200-8b")
MIX = (LengthClass(1.0, (200, 800), (100, 300)),)
PLAN = LoadPlan(mix=MIX, rate=20)


def options(**changes: int) -> EngineOptions:
    plain = {"num_gpu_blocks": 20000, "max_num_seqs": 1024, "async_scheduling": True}
    return EngineOptions(**{**plain, **changes})  # type: ignore[arg-type]


def drift(seed: int) -> Callable[[float], float]:
    """Times that swing by a fifth within the hour and jump by a few percent every second."""
    phase = random.Random(seed).uniform(0, 6)

    def factor(t: float) -> float:
        noise = random.Random(f"{seed}/{int(t)}").gauss(0, 0.03)
        return math.exp(0.2 * math.sin((t - 1_790_000_000) / 600 + phase) + noise)

    return factor


def tried(a: EmulatedArm, b: EmulatedArm, plan: LoadPlan = PLAN, rules: Rules | None = None, **more: object) -> Trial:
    spec = TrialSpec(plan=plan, rules=rules or Rules(), **more)  # type: ignore[arg-type]
    return asyncio.run(run_trial(a, b, spec))


def arms(a: EngineOptions, b: EngineOptions, seed: int = 1, **how: object) -> tuple[EmulatedArm, EmulatedArm]:
    time = VirtualTime()
    made = [EmulatedArm(o, PROFILE, time, drift=drift(seed), **how) for o in (a, b)]  # type: ignore[arg-type]
    return made[0], made[1]


def test_what_lifts_the_limit_wins() -> None:
    trial = tried(*arms(options(max_num_seqs=16), options()))
    assert trial.verdict == "WIN"
    effect = trial.effect("e2e_mean")
    assert effect is not None
    assert (effect.high or 0) < -0.5
    assert "above_capacity" in {finding.id for finding in trial.findings}
    assert trial.block_seconds > 10
    assert [block.arm for block in trial.blocks[:4]] == ["a", "b", "b", "a"]
    assert trial.seconds == pytest.approx(trial.ended - trial.started, abs=5 + 3 * len(trial.blocks))


def test_what_tightens_it_is_harm() -> None:
    assert tried(*arms(options(), options(max_num_seqs=16))).verdict == "HARM"


def test_the_same_is_found_to_be_the_same() -> None:
    time = VirtualTime()
    still = [EmulatedArm(options(), PROFILE, time) for _ in "ab"]
    trial = tried(still[0], still[1])
    assert trial.verdict == "FUTILE"
    assert trial.pairs == 5
    for block_a, block_b in zip(trial.blocks[::4], trial.blocks[1::4], strict=False):
        assert block_a.figures == block_b.figures  # the same requests, and nothing of the one helps the other


def test_a_no_regression_trial_shows_that_there_is_none() -> None:
    trial = tried(*arms(options(), options(), seed=4), rules=Rules(goal="no-regression"), budget_s=3600)
    assert trial.verdict == "FUTILE"
    assert {guard.verdict for guard in trial.guards} == {"holds"}


def test_the_time_is_kept_and_what_is_open_then_is_said() -> None:
    rules = Rules(goal="no-regression")
    trial = tried(*arms(options(), options(), seed=2), rules=rules, budget_s=120)
    assert trial.verdict == "INCONCLUSIVE"
    assert trial.seconds < 170
    assert "time is up" in trial.because.en


def test_restarts_between_blocks_are_counted_and_warmed_up() -> None:
    trial = tried(*arms(options(max_num_seqs=16), options(), restarts=True, restart_s=30.0), budget_s=7200)
    assert trial.design == "restarts"
    assert trial.verdict == "WIN"
    assert trial.pairs >= 3
    assert len(trial.warm_up) == trial.pairs + 1  # ABBA: a server stays up across two pairs
    assert trial.minimum_effect == 0.1


def test_a_slo_makes_attainment_a_metric() -> None:
    rules = Rules(primary="slo_attainment")
    trial = tried(*arms(options(max_num_seqs=16), options()), rules=rules, slo=Slo(ttft_p95_s=1.0))
    effect = trial.effect("slo_attainment")
    assert trial.verdict == "WIN"
    assert effect is not None
    assert effect.b == 1.0
    assert effect.scale == "points"
    assert all(block.figures["goodput"] is not None for block in trial.blocks)


def test_a_closed_loop_is_played_and_named() -> None:
    trial = tried(*arms(options(max_num_seqs=16), options()), plan=LoadPlan(mix=MIX, clients=64), budget_s=1200)
    assert "closed_loop" in {finding.id for finding in trial.findings}
    effect = trial.effect("tokens_per_s")
    assert effect is not None
    assert (effect.mid or 0) > 0.2


def test_requests_that_cannot_be_served_are_failures() -> None:
    trial = tried(*arms(options(), options(max_model_len=512)))
    assert trial.verdict == "HARM"
    assert trial.pairs == 1


class Gone(EmulatedArm):
    """An arm whose server dies in its third block."""

    blocks = 0

    async def block(self, trace: Trace, drain_s: float) -> BlockResult:
        self.blocks += 1
        if self.blocks > 3:
            raise Unavailable("nothing answers", "Start it.")
        return await super().block(trace, drain_s)


def test_b_that_goes_away_is_harm_and_a_that_does_is_an_error() -> None:
    time = VirtualTime()
    good, bad = EmulatedArm(options(), PROFILE, time), Gone(options(), PROFILE, time, label=TrialArm("bad"))
    trial = tried(good, bad)
    assert (trial.verdict, trial.b.target) == ("HARM", "bad")
    assert "nothing answers" in trial.because.en
    with pytest.raises(Unavailable):
        tried(Gone(options(), PROFILE, time), good)


def test_a_trial_without_a_load_is_refused() -> None:
    with pytest.raises(UsageError):
        tried(*arms(options(), options()), plan=LoadPlan())


def test_a_recorded_trace_is_what_both_arms_get() -> None:
    recorded = tuple(Arrival(k * 0.05, 300 + k % 100, 100, hash_ids=(k % 7,)) for k in range(4000))
    trial = tried(*arms(options(), options()), plan=LoadPlan(recorded=recorded))
    requests = [(a.requests, b.requests) for a, b in zip(trial.blocks[::2], trial.blocks[1::2], strict=True)]
    assert all(a == b > 100 for a, b in requests)


async def test_a_block_counts_what_is_not_answered_in_time_as_cut() -> None:
    arm = EmulatedArm(options(max_num_seqs=2), PROFILE, VirtualTime())
    result = await arm.block(PLAN.trace(10, seed=1), 5.0)
    assert result.cut.sum() > 10
    assert not result.failed.any()
    assert np.isfinite(result.ttft_s).all()
    assert (result.e2e_s[result.cut] >= 5.0).all()
    after = await arm.block(LoadPlan(mix=MIX, rate=0.5).trace(10, seed=1), 60.0)
    assert not after.cut.any()  # what was given up is gone


async def test_figures_leave_the_head_of_a_block_out() -> None:
    arm = EmulatedArm(options(), PROFILE, VirtualTime())
    result = await arm.block(PLAN.trace(30, seed=1), 30.0)
    whole, late = result.figures(), result.figures(10.0)
    assert (late["tokens_per_s"] or 0) > (whole["tokens_per_s"] or 0) > 0  # it had to fill up first
    assert late["tokens_per_s"] == pytest.approx(20 * 200, rel=0.15)
    assert whole["errors"] == 0.0
    assert result.figures(40.0)["ttft_p95"] is None


def test_weighted_quantiles_count_weights() -> None:
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 8.0, 1.0])
    assert weighted_quantile(values, weights, 0.5) == 1.0
    assert weighted_quantile(values, weights, 0.95) == 3.0
    assert weighted_quantile(np.zeros(0), np.zeros(0), 0.5) is None


def test_harm_that_is_plain_in_one_block_ends_it_there() -> None:
    told, asked = Text("it is plain"), list[tuple[str, str]]()

    def stop(before: Block, after: Block) -> Text | None:
        asked.append((before.arm, after.arm))
        return told if len(asked) == 2 else None

    trial = tried(*arms(options(), options()), stop=stop)
    assert (trial.verdict, trial.because) == ("HARM", told)
    assert asked == [("a", "b"), ("a", "b")]
    assert [block.arm for block in trial.blocks] == ["a", "b", "b"]


def test_only_what_is_guarded_can_be_harmed() -> None:
    worse = arms(options(), options(max_num_seqs=16))
    trial = tried(*worse, rules=Rules(primary="output_tokens", guarded=("errors",)), budget_s=300)
    assert trial.verdict != "HARM"
    assert [guard.metric for guard in trial.guards] == ["errors"]

"""How often a trial is right: false verdicts where the arms are the same, and pairs of blocks until an effect is shown.

First pairs of blocks as numbers: a log metric with noise of its own in each block and a drift that walks and swings, over at
most 60 pairs, beside what people do instead (a t-test looked at after every pair, one of a fixed size, all of A before all
of B). Then whole trials on emulated engines in virtual time, whose step times drift. Emulated accuracy is no real accuracy.
Prints both tables and appends a JSON line to ``benchmarks/results/sequential.jsonl``.

    python benchmarks/accuracy/sequential.py [--runs 2000] [--trials 100]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.model.trial import Block
from whystall.trials.emulated_arm import EmulatedArm, VirtualTime
from whystall.trials.load.plan import LoadPlan
from whystall.trials.rules import Rules, judge
from whystall.trials.sequential import confidence_sequence, student_quantile
from whystall.trials.trial import TrialSpec, run_trial

ROOT = Path(__file__).resolve().parents[2]
EFFECTS = (0.0, -0.03, -0.05, -0.10, -0.20, -0.35)
MOST_PAIRS, FIXED_PAIRS, BLOCK_S, ALPHA = 60, 30, 15.0, 0.05
BLOCK_NOISE = 0.082  # of a block's log metric, so that pairs spread by 0.12: what the reference table was made with
WALK, SWING, PERIOD_S = 0.01, 0.10, 3600.0  # of the drift: a step a block, and an hourly swing
REFERENCE = {
    0.0: (0.045, None),
    -0.03: (0.215, 30),
    -0.05: (0.623, 29),
    -0.10: (1.0, 13),
    -0.20: (1.0, 6),
    -0.35: (1.0, 5),
}
START = 1_790_000_000.0


def drift_of(blocks: int, draw: np.random.Generator) -> np.ndarray:
    """The log factor of each block."""
    phase = draw.uniform(0, 2 * math.pi)
    swing = SWING * np.sin(2 * math.pi * np.arange(blocks) * BLOCK_S / PERIOD_S + phase)
    return np.asarray(swing + np.cumsum(draw.normal(0, WALK, blocks)))


def interleaved(effect: float, draw: np.random.Generator) -> np.ndarray:
    """Log ratios B/A of pairs in the order A B B A."""
    noisy = drift_of(2 * MOST_PAIRS, draw) + draw.normal(0, BLOCK_NOISE, 2 * MOST_PAIRS)
    first, second = noisy[0::2], noisy[1::2]
    turned = np.arange(MOST_PAIRS) % 2 == 1
    return math.log1p(effect) + np.where(turned, first - second, second - first)


def always_valid(values: list[float]) -> int | None:
    """Pairs until the interval excludes 0; None where it never does."""
    for n in range(5, len(values) + 1):
        found = confidence_sequence(values[:n], ALPHA, 5)
        if found.low > 0 or found.high < 0:
            return n
    return None


def significant(values: np.ndarray) -> bool:
    """Student's t-test of a mean of 0."""
    n = len(values)
    return abs(values.mean()) > student_quantile(1 - ALPHA / 2, n - 1) * values.std(ddof=1) / math.sqrt(n)


def one_after_the_other(effect: float, draw: np.random.Generator) -> bool:
    """All blocks of A, then all of B, and a two-sample t-test."""
    noisy = drift_of(2 * FIXED_PAIRS, draw) + draw.normal(0, BLOCK_NOISE, 2 * FIXED_PAIRS)
    a, b = noisy[:FIXED_PAIRS], noisy[FIXED_PAIRS:] + math.log1p(effect)
    spread = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / FIXED_PAIRS)
    return bool(abs(b.mean() - a.mean()) > student_quantile(1 - ALPHA / 2, 2 * FIXED_PAIRS - 2) * spread)


def verdict_of(values: list[float], rules: Rules) -> tuple[str, int]:
    """The whole rule on pairs that have one metric."""
    pairs = []
    for n, value in enumerate(values, start=1):
        a, b = (Block(n, arm, 0.0, BLOCK_S, 100, 0, {"e2e_mean": x}) for arm, x in (("a", 1.0), ("b", math.exp(value))))
        pairs.append((a, b))
        found = judge(pairs, rules, total=MOST_PAIRS)
        if found.verdict is not None:
            return found.verdict, n
    return "INCONCLUSIVE", len(values)


def arithmetic(runs: int) -> list[dict[str, object]]:
    """One row for each effect."""
    rows: list[dict[str, object]] = []
    print("pairs of blocks, as numbers          | instead: share that 'finds' an effect")
    print("effect   decides (ref)   pairs: median, p90 (ref median)   peeking t   fixed n   A then B   whole rule")
    for effect in EFFECTS:
        draw = np.random.default_rng(abs(int(effect * 1000)) + 7)
        series = [interleaved(effect, draw) for _ in range(runs)]
        counts = [n for values in series if (n := always_valid(values.tolist())) is not None]
        peeking = np.mean([any(significant(values[:n]) for n in range(5, MOST_PAIRS + 1)) for values in series])
        fixed = np.mean([significant(values[:FIXED_PAIRS]) for values in series])
        after = np.mean([one_after_the_other(effect, draw) for _ in range(runs)])
        rule = Counter(verdict_of(values.tolist(), Rules(guarded=()))[0] for values in series[: runs // 2])
        shares = {name: round(count / (runs // 2), 3) for name, count in rule.most_common()}
        median, tail = (float(np.quantile(counts, q)) if counts else math.nan for q in (0.5, 0.9))
        decides = len(counts) / runs
        want = REFERENCE[effect]
        print(
            f"{effect:+6.0%}   {decides:.3f} ({want[0]:.3f})   {median:4.0f} {tail:4.0f} ({want[1] or '-'})"
            f"{'':12}{peeking:.3f}       {fixed:.3f}     {after:.3f}      {shares}"
        )
        rows.append(
            {
                "effect": effect,
                "decides": round(decides, 4),
                "pairs_median": median,
                "pairs_p90": tail,
                "peeking": round(float(peeking), 4),
                "fixed": round(float(fixed), 4),
                "a_then_b": round(float(after), 4),
                "rule": shares,
            }
        )
    return rows


def server_drift(seed: int) -> Callable[[float], float]:
    """A factor of all step times: a fifth up and down within the hour, a walk, and 3% of noise from second to second."""
    phase = random.Random(seed).uniform(0, 6)

    def factor(t: float) -> float:
        minute = random.Random(f"{seed}/m{int(t // 60)}").gauss(0, 0.03)
        second = random.Random(f"{seed}/s{int(t)}").gauss(0, 0.03)
        return math.exp(0.2 * math.sin((t - START) / 600 + phase) + minute + second)

    return factor


def emulated(profile_b: StepProfile, options_b: EngineOptions, seed: int) -> tuple[str, int]:
    """One trial of two engines on one drifting machine."""
    at, drift = VirtualTime(START), server_drift(seed)
    a = EmulatedArm(OPTIONS, PROFILE, at, drift=drift)
    b = EmulatedArm(options_b, profile_b, at, drift=drift)
    plan = LoadPlan(mix=(LengthClass(1.0, (200, 800), (100, 300)),), rate=20)
    trial = asyncio.run(run_trial(a, b, TrialSpec(plan=plan, seed=seed, budget_s=1800)))
    return trial.verdict, trial.pairs


PROFILE = load_profile("h200-8b")
OPTIONS = EngineOptions(num_gpu_blocks=20000, max_num_seqs=1024, async_scheduling=True)
TIMES = tuple(name for name in StepProfile.__struct_fields__ if name.endswith("_s"))


def engines(trials: int) -> list[dict[str, object]]:
    """Verdicts of whole trials."""
    rows: list[dict[str, object]] = []
    print("\nwhole trials on emulated engines under drift, 20 requests/s")
    print("B                         verdicts                                            pairs median")
    cases: list[tuple[str, float, EngineOptions, int]] = [("the same", 1.0, OPTIONS, trials)]
    cases += [(f"steps {by - 1:+.0%}", by, OPTIONS, trials // 4) for by in (0.9, 0.8, 0.65, 1.1, 1.25)]
    cases += [
        ("16 seats", 1.0, EngineOptions(num_gpu_blocks=20000, max_num_seqs=16, async_scheduling=True), trials // 4)
    ]
    for name, by, options, count in cases:
        profile = PROFILE.scaled(**dict.fromkeys(TIMES, by))
        found = [emulated(profile, options, seed) for seed in range(1, count + 1)]
        verdicts = dict(Counter(verdict for verdict, _ in found).most_common())
        median = float(np.median([pairs for _, pairs in found]))
        print(f"{name:24}  {verdicts!s:50}  {median:.0f}")
        rows.append({"b": name, "trials": count, "verdicts": verdicts, "pairs_median": median})
    return rows


def keep(**figures: object) -> None:
    """A line of ``figures`` for the results."""
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with (ROOT / "benchmarks" / "results" / "sequential.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": git.stdout.strip(), "time": int(time.time()), **figures}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--trials", type=int, default=100)
    args = parser.parse_args()
    keep(runs=args.runs, arithmetic=arithmetic(args.runs), engines=engines(args.trials))


if __name__ == "__main__":
    main()

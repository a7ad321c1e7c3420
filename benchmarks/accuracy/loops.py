"""Whole loops on emulated targets in virtual time: harm, sign, coverage of the predicted intervals, false wins.

Each target has one flag set wrongly (whystall.trials.lab.treatable), every coefficient of its steps off by some tenths, its
load off as well, and drifts while it is looked at; the what-if sees its pages, its GPU samples and its log only. The loop
collects, diagnoses, predicts, changes, proves under the target's own load and keeps or goes back. What was kept is run
once more without drift, both ways: worse there by more than a guard's margin is harm. With ``--equal`` both arms are the
same, under the same drift: every WIN is a false one. Emulated accuracy is no real accuracy.

    python benchmarks/accuracy/loops.py [--loops 400] [--equal 200] [--jobs 2] [--seed 1] [--rows FILE]

Appends a line to ``benchmarks/results/loops.jsonl``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.server.deployment import Serving
from whystall.errors import WhystallError
from whystall.loop.first_harm import floors_of_means
from whystall.loop.flow import Loop, Mandate
from whystall.loop.observed_arm import seen_block
from whystall.loop.parts import Parts, analyze, detector
from whystall.loop.records import Records
from whystall.loop.switch import go_on
from whystall.loop.verify import TrialLimits, WatchingVerifier
from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.fix import Fix
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.pipeline import states_of
from whystall.remedies.whatif import predict_remedies
from whystall.trials.emulated_target import EmulatedTarget
from whystall.trials.lab.treatable import TREATABLE, Treatable
from whystall.trials.metrics import METRICS, change, worse_by
from whystall.trials.price import may_have_price, sooner
from whystall.trials.sequential import Interval

ROOT = Path(__file__).resolve().parents[2]
SETTLE_S, LOOK_S, TRUTH_S = 660.0, 40.0, 60.0  # a younger server may still be warming up
SCENES = tuple(scene for scene in TREATABLE if scene.predicted)
COMPARED = ("ttft_mean", "itl_mean", "tokens_per_s")
DECIDED = 0.10  # a change of at least this size (log) has a sign
SPREAD = 0.15  # of each coefficient, and of all of them together
NOTHING = {"--max-num-queued-tokens": "100000000"}


def perturbed(scene: Treatable, rng: random.Random) -> Serving:
    """The server of the scene with coefficients and a load of its own."""
    plain = scene.roomy()
    common = rng.gauss(0, SPREAD)
    names = [n for n in StepProfile.__struct_fields__ if n.endswith("_s") and getattr(plain.profile, n)]
    profile = plain.profile.scaled(**{name: math.exp(common + rng.gauss(0, SPREAD)) for name in names})
    more = math.exp(rng.gauss(0, SPREAD))
    plan = plain.traffic
    traffic = msgspec.structs.replace(plan, clients=round(plan.clients * more), rate=plan.rate * more)
    return msgspec.structs.replace(plain, profile=profile, traffic=traffic, seed=rng.randint(1, 9999))


class Drift:
    """Slow swings of some percent and noise from stretch to stretch, the same for the same seed."""

    def __init__(self, seed: str) -> None:
        rng = random.Random(seed)
        self.seed = seed
        self.swing, self.period, self.phase = rng.uniform(0.02, 0.08), rng.uniform(200, 1200), rng.uniform(0, 6.3)

    def __call__(self, t: float) -> float:
        noise = random.Random(f"{self.seed}/{int(t / 5)}").gauss(0, 0.02)
        return math.exp(self.swing * math.sin(6.283 * t / self.period + self.phase) + noise)


def first_predicted(scene: Treatable, recording: Recording, diagnosis: Diagnosis) -> tuple[Remedy, ...]:
    """As the loop's own optimizer, but only flags of the server are predicted: capacity is not what is tried here."""
    knobs = tuple(remedy for remedy in diagnosis.remedies if remedy.change)
    state = states_of(recording)[0]
    return predict_remedies(msgspec.structs.replace(diagnosis, remedies=knobs), state, slo=scene.slo, most=1)


async def loop(scene: Treatable, target: EmulatedTarget, state: Path) -> Fix:
    limits = TrialLimits(budget_s=2400.0, slo=scene.slo)
    parts = Parts(
        metrics_collector=lambda: target.look(LOOK_S),
        verifier=WatchingVerifier(target.target, target.look, limits, lambda _line: None),
        anomaly_detector=detector(scene.slo),
        root_cause_analyzer=analyze,
        optimizer=lambda recording, diagnosis: first_predicted(scene, recording, diagnosis),
    )
    mandate = Mandate(state=state, apply=True, look_again=False)
    return await Loop(target.target, target, parts, mandate, Records(None), go_on).run()


async def figures(scene: Treatable, roomy: Serving, flags: tuple[str, ...]) -> dict[str, float | None]:
    """What users see of the server with these arguments, without drift."""
    target = scene.target(roomy)
    if flags != target.arguments:
        target._start(flags)
        await target.healthy()
    target.let_run(20.0)
    return dict(seen_block(await target.look(TRUTH_S)).figures())


async def is_harm(scene: Treatable, roomy: Serving, before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether a guard is worse by more than its margin, where that is felt or breaks what was promised."""
    old, new = await figures(scene, roomy, before), await figures(scene, roomy, after)
    floors = floors_of_means(scene.slo)
    promised = ("itl_mean",) if scene.slo and scene.slo.itl_p95_s else ()
    gained = change(METRICS["e2e_mean"], old["e2e_mean"], new["e2e_mean"]) or 0.0
    e2e = [Interval(-gained, -gained, -gained, 1)]
    for metric in ("e2e_mean", "ttft_mean", "itl_mean", "tokens_per_s", "errors"):
        entry, floor = METRICS[metric], floors.get(metric, 0.0)
        a, b = (max(value, floor) if value is not None else None for value in (old[metric], new[metric]))
        found = change(entry, a, b)
        harm = None if found is None else -found if entry.better == "higher" else found
        if (
            harm is not None
            and harm > worse_by(entry, entry.margin)
            and not (may_have_price(metric, b, promised) and sooner(e2e))
        ):
            return True
    return False


def one(number: int, seed: int) -> dict[str, Any]:
    """One loop, as a row."""
    rng = random.Random(f"loop {seed} {number}")
    scene = SCENES[number % len(SCENES)]
    roomy = perturbed(scene, rng)
    target = scene.target(roomy, Drift(f"{seed}/{number}"))
    before = target.arguments
    with tempfile.TemporaryDirectory() as folder:
        try:
            target.let_run(SETTLE_S)
            fix = asyncio.run(loop(scene, target, Path(folder)))
        except WhystallError as error:
            return {"scene": scene.cause, "state": f"error: {error.message}"}
    row: dict[str, Any] = {"scene": scene.cause, "state": fix.state, "metrics": compared(fix)}
    row["cause"] = fix.root_causes[0].id if fix.root_causes else ""
    if fix.trial is not None:
        row |= {"verdict": fix.trial.verdict, "primary": fix.trial.primary, "pairs": fix.trial.pairs}
    if fix.state == "kept":
        row["harm"] = asyncio.run(is_harm(scene, roomy, before, target.arguments))
    return row


def compared(fix: Fix) -> dict[str, dict[str, float]]:
    """Predicted and measured changes by metric, as logarithms."""
    rows = {}
    if fix.remedy is None or fix.remedy.prediction is None or fix.trial is None:
        return rows
    for metric in COMPARED:
        said, seen = fix.remedy.prediction.metric(metric), fix.trial.effect(metric)
        if said is None or said.relative is None or seen is None or seen.mid is None or seen.pairs < 3:
            continue
        low, mid, high = (
            math.log1p(max(x, -0.9999)) for x in (said.relative.low, said.relative.mid, said.relative.high)
        )
        rows[metric] = {"low": low, "mid": mid, "high": high, "seen": math.log1p(max(seen.mid, -0.9999))}
    return rows


def equal(number: int, seed: int) -> str:
    """The verdict on a change that changes nothing."""
    rng = random.Random(f"equal {seed} {number}")
    scene = SCENES[number % len(SCENES)]
    target = scene.target(perturbed(scene, rng), Drift(f"equal {seed}/{number}"))
    nothing = Remedy("nothing", Text("nothing"), NOTHING)
    limits = TrialLimits(budget_s=2400.0, slo=scene.slo)
    parts = Parts(
        metrics_collector=lambda: target.look(LOOK_S),
        verifier=WatchingVerifier(target.target, target.look, limits, lambda _line: None),
        anomaly_detector=detector(scene.slo),
        root_cause_analyzer=analyze,
        optimizer=lambda _recording, _diagnosis: (nothing,),
    )
    with tempfile.TemporaryDirectory() as folder:
        mandate = Mandate(state=Path(folder), apply=True, canary=True, look_again=False)
        try:
            target.let_run(SETTLE_S)
            fix = asyncio.run(Loop(target.target, target, parts, mandate, Records(None), go_on).run())
        except WhystallError as error:
            return f"error: {error.message}"
    return fix.trial.verdict if fix.trial is not None else fix.state


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rates over all loops; coverage and sign over metrics that were predicted and measured."""
    states: dict[str, int] = {}
    for row in rows:
        states[row["state"]] = states.get(row["state"], 0) + 1
    pairs = [pair for row in rows for pair in row.get("metrics", {}).values()]
    first = [row["metrics"][row["primary"]] for row in rows if row.get("primary") in row.get("metrics", {})]
    decided = [pair for pair in pairs if abs(pair["seen"]) >= DECIDED]
    kept = [row for row in rows if row["state"] == "kept"]
    return {
        "loops": len(rows),
        "states": states,
        "cause_first": share([row.get("cause") == row["scene"] for row in rows]),
        "kept": len(kept),
        "harmed": sum(row["harm"] for row in kept),
        "harm_rate": share([row.get("harm", False) for row in rows]),
        "sign_primary": share([pair["mid"] * pair["seen"] > 0 for pair in first]),
        "sign": share([pair["mid"] * pair["seen"] > 0 for pair in decided]),
        "coverage_primary": share([pair["low"] <= pair["seen"] <= pair["high"] for pair in first]),
        "coverage": share([pair["low"] <= pair["seen"] <= pair["high"] for pair in pairs]),
        "compared": len(pairs),
        "decided": len(decided),
    }


def share(found: list[bool]) -> float | None:
    return round(sum(found) / len(found), 4) if found else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=400)
    parser.add_argument("--equal", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--rows", type=Path, help="Append every loop there as it ends, and leave out those that it has."
    )
    asked = parser.parse_args()
    begun, had = time.time(), _had(asked.rows)
    tasks = [("loop", n) for n in range(asked.loops)] + [("equal", n) for n in range(asked.equal)]
    tasks = [task for task in tasks if (*task, asked.seed) not in had]
    rows = list(had.values())
    with ProcessPoolExecutor(asked.jobs) as pool:
        for row in pool.map(_done, tasks, [asked.seed] * len(tasks)):
            rows.append(row)
            print(json.dumps(row), flush=True)
            if asked.rows:
                with asked.rows.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    keep(rows, asked.seed, time.time() - begun)
    return 0


def _done(task: tuple[str, int], seed: int) -> dict[str, Any]:
    kind, number = task
    begun = time.process_time()
    row = one(number, seed) if kind == "loop" else {"verdict": equal(number, seed)}
    return {"kind": kind, "number": number, "seed": seed, **row, "cpu_s": round(time.process_time() - begun, 1)}


def _had(file: Path | None) -> dict[tuple[str, int, int], dict[str, Any]]:
    """The rows of a run that was cut short."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file and file.exists() else []
    return {(row["kind"], row["number"], row["seed"]): row for row in rows}


def keep(rows: list[dict[str, Any]], seed: int, seconds: float) -> None:
    """Sum up, print, and append to the results."""
    loops = [row for row in rows if row["kind"] == "loop"]
    verdicts = dict(Counter(row["verdict"] for row in rows if row["kind"] == "equal"))
    result = {**summary(loops), "equal": verdicts, "false_wins": share_of(verdicts)}
    by_scene = {scene.cause: summary([row for row in loops if row["scene"] == scene.cause]) for scene in SCENES}
    show(result, by_scene)
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), "seed": seed, **result, "scenes": by_scene}
    line["seconds"] = round(seconds)
    with (ROOT / "benchmarks" / "results" / "loops.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def share_of(verdicts: dict[str, int]) -> float | None:
    total = sum(verdicts.values())
    return round(verdicts.get("WIN", 0) / total, 4) if total else None


def show(result: dict[str, Any], by_scene: dict[str, dict[str, Any]]) -> None:
    for name, row in by_scene.items():
        cells = " ".join(f"{key} {row[key]}" for key in ("loops", "kept", "harmed", "sign", "coverage"))
        print(f"{name:18}{cells}  {row['states']}")
    for key, value in result.items():
        print(f"{key:18}{value}")


if __name__ == "__main__":
    raise SystemExit(main())

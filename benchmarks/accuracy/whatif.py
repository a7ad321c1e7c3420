"""The what-if against what happens: sign, coverage of the 90% interval, harm of what it recommends.

Emulated targets whose steps are not those of any profile (every coefficient is drawn), that drift while they are looked
at, and of which the what-if sees the pages and the log only. Each is recorded with an incident, a change is predicted,
and the same target is run again with the change, drifting another way. Emulated accuracy is no real accuracy: ``--real``
does the same with pairs of recordings of real servers. Appends to ``benchmarks/results/whatif.jsonl``.

    python benchmarks/accuracy/whatif.py [--windows 48] [--changes 6] [--seed 1] [--real]
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.recorder import record_run
from whystall.errors import WhystallError
from whystall.loop.decision import MOST_HARM
from whystall.model.prediction import Prediction
from whystall.pipeline import diagnose, states_of
from whystall.remedies.whatif import WhatIfAsked
from whystall.remedies.whatif.play import figures
from whystall.remedies.whatif.prediction import predict, stage_of
from whystall.remedies.whatif.verdict import EFFECT, FELT_S, MARGIN, PAUSE_S, advice
from whystall.sources.files.recording import read_recording
from whystall.state.histograms import mean_of

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("WHYSTALL_SHARED", ROOT.parent / "shared"))
# As long as the stretch that a what-if plays: a queue from before would be in what happens and not in what is predicted.
START, SECONDS, AT_S = 1_790_000_000.0, 60.0, 15.0
TARGETS = (
    *("healthy", "kv_capacity", "seat_cap", "queue_limit", "token_budget", "prefill_bound", "prefill_interference"),
    *("longer_prompts", "longer_outputs", "overload", "burst", "prefix_cache_loss", "gpu_throttle", "engine_loop_cpu"),
)
METRICS = ("ttft_mean", "ttft_p95", "itl_mean", "itl_p95", "e2e_p95", "tokens_per_s", "goodput")
DECIDED = 0.10  # a change of at least this size (log) has a sign
HARM_BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.01)  # of P(harm), for its calibration
DRIFT = 0.01  # sd of the steps' slow drift, every ten seconds anew
NOISE = 0.005  # sd between two runs of one server (method.md 3)
Change = tuple[dict[str, str], Callable[[Serving], Serving]]


def option(flag: str, value: float, **options: Any) -> Change:
    """A flag and what it does to the real options: written here anew, not taken from the what-if."""

    def apply(serving: Serving) -> Serving:
        return msgspec.structs.replace(serving, options=msgspec.structs.replace(serving.options, **options))

    return {flag: f"{value:g}" if isinstance(value, float) else str(value)}, apply


def switched(flag: str, **options: Any) -> Change:
    _, apply = option(flag, 0, **options)
    return {flag: "true"}, apply


def changes(serving: Serving, rng: random.Random) -> list[Change]:
    """Good and bad ones, as somebody might ask for."""
    o = serving.options
    least = -(-o.max_model_len // o.block_size) + 2

    def seats(by: float) -> Change:
        n = max(int(o.max_num_seqs * by), 1)
        return option("--max-num-seqs", n, max_num_seqs=n)

    def tokens(by: float) -> Change:
        n = max(int(o.max_num_batched_tokens * by), 64, o.max_num_seqs)
        return option("--max-num-batched-tokens", n, max_num_batched_tokens=n)

    def blocks(by: float) -> Change:
        n = max(int(o.num_gpu_blocks * by), least)
        return option("--num-gpu-blocks-override", n, num_gpu_blocks=n)

    chunk = rng.choice((256, 512, 1024, 2048))
    queued = rng.choice((8, 16, 32, 64, 128, 256))
    few = rng.choice((4, 8, 16, 32))
    return [
        seats(rng.choice((0.25, 0.5, 2.0, 4.0))),
        tokens(rng.choice((0.25, 0.5, 2.0, 4.0))),
        blocks(rng.choice((0.5, 0.75, 1.5, 2.0, 4.0))),
        option("--long-prefill-token-threshold", chunk, long_prefill_token_threshold=chunk),
        option("--max-num-queued-reqs", queued, max_num_queued_reqs=queued),
        option("--max-num-seqs", few, max_num_seqs=few),
        option("--max-num-active-seqs", few, max_num_active_seqs=few) if few <= o.max_num_seqs else seats(2.0),
        switched("--no-enable-prefix-caching", enable_prefix_caching=False),
        option("--watermark", 0.05, watermark=0.05),
    ]


def target(fault: str, rng: random.Random) -> Serving:
    """A server whose every coefficient is off by some tenths, all of them together by as much again."""
    plain = healthy_serving(fault)
    names = [n for n in StepProfile.__struct_fields__ if n.endswith("_s") and getattr(plain.profile, n)]
    common = rng.gauss(0, 0.15)
    profile = plain.profile.scaled(**{name: math.exp(common + rng.gauss(0, 0.15)) for name in names})
    options = msgspec.structs.replace(plain.options, max_num_seqs=rng.choice((256, 1024)))
    rate = plain.traffic.rate * math.exp(rng.gauss(0, 0.15) - common / 2)
    traffic = msgspec.structs.replace(plain.traffic, rate=rate)
    return msgspec.structs.replace(plain, profile=profile, options=options, traffic=traffic, seed=rng.randint(1, 9999))


def drifting(deployment: Deployment, rng: random.Random) -> None:
    """The steps' time wanders, and nobody is told."""

    def wander(d: Deployment, t: float) -> None:
        slower(d, math.exp(rng.gauss(0, DRIFT)))
        d.at(t + 10.0, wander)

    deployment.at(START, wander)


def slower(deployment: Deployment, factor: float) -> None:
    for replica in deployment.replicas:
        profile = replica.engine.clock.profile
        names = [n for n in StepProfile.__struct_fields__ if n.endswith("_s") and getattr(profile, n)]
        replica.engine.clock.set(profile.scaled(**dict.fromkeys(names, factor)))


def incident(serving: Serving, fault: str, seed: str, noise: float = 0.0) -> Deployment:
    """The server with its incident and its drift. Both arms drift alike, as in interleaved blocks, but for ``noise``."""
    deployment = Deployment(serving, start=START)
    for planned in plan(fault):
        inject(deployment, planned)
    drifting(deployment, random.Random(seed))
    slower(deployment, math.exp(noise))
    return deployment


def played(deployment: Deployment) -> Deployment:
    """Run without anybody looking: the journal keeps everything."""
    for replica in deployment.replicas:
        replica.meters.absorb = lambda: None  # type: ignore[method-assign]
    for second in range(int(SECONDS) + 1):  # as it is recorded: new clients of its own load start at such a moment
        deployment.advance(START + second)
    return deployment


def plan(fault: str) -> list[Planned]:
    return [] if fault == "healthy" else [Planned(FAULTS[fault], AT_S, 1.0)]


def measured(deployment: Deployment, start: float, stop: float) -> dict[str, float]:
    """The figures of the run in (start, stop], unix seconds."""
    engine: Engine = deployment.replicas[0].engine
    found = figures(engine, start, stop)
    return {**{m: found.metrics[m] for m in METRICS}, "rejected": found.rejected_per_s}  # type: ignore[index]


def cases(windows: int, each: int, seed: int) -> Iterator[dict[str, Any]]:
    """Every prediction beside what happened."""
    for number in range(windows):
        name = f"{seed} {number}"
        rng = random.Random(name)
        fault = TARGETS[(number + seed * windows) % len(TARGETS)]
        serving = prepared(target(fault, rng), plan(fault))
        with tempfile.TemporaryDirectory() as folder:
            record_run(incident(serving, fault, name), Path(folder), seconds=SECONDS)
            recording = read_recording(Path(folder))
        try:
            diagnosis, state = diagnose(recording).diagnosis, states_of(recording)[0]
            stage = stage_of(diagnosis, state)
        except WhystallError as error:
            print(f"{fault}: {error.message}")
            continue
        before = played(incident(serving, fault, name))
        for change, apply in rng.sample(changes(serving, rng), each):
            found = predict(stage, WhatIfAsked(change))
            if isinstance(found, Prediction):
                after = played(incident(apply(serving), fault, name, rng.gauss(0, NOISE)))
                window = found.start, found.start + found.seconds
                yield row(fault, found, measured(before, *window), measured(after, *window))


def row(fault: str, found: Prediction, a: dict[str, float], b: dict[str, float]) -> dict[str, Any]:
    """One case: by metric the true and the predicted change (log), the interval, and whether it holds."""
    metrics: dict[str, Any] = {}
    for name in METRICS:
        metric = found.metric(name)
        if metric is None or metric.relative is None or not (a[name] > 0 and b[name] > 0):
            continue
        truth = math.log(b[name] / a[name])
        low, mid, high = (
            math.log(max(1 + v, 1e-4)) for v in (metric.relative.low, metric.relative.mid, metric.relative.high)
        )
        metrics[name] = {"truth": truth, "low": low, "mid": mid, "high": high, "in": low <= truth <= high}
    # Slower tokens of requests that end sooner are a price (whystall.trials.price), unless a gap is a wait of its own.
    price = b["e2e_p95"] < a["e2e_p95"] * (1 - EFFECT["e2e_p95"]) and b["itl_p95"] < PAUSE_S
    harm = [m for m in EFFECT if m in a and _worse(m, a[m], b[m]) and not (price and m in ("itl_mean", "itl_p95"))]
    told = {"advice": found.advice, "p_harm": found.p_harm, "p_meets": found.p_meets}
    return {"fault": fault, "change": found.change, **told, "metrics": metrics, "harm": harm}


def _worse(metric: str, a: float, b: float) -> bool:
    margin = MARGIN[metric]  # type: ignore[index]
    if metric in ("tokens_per_s", "goodput"):
        return a > 0 and b < a * (1 - margin)
    felt = FELT_S.get(metric, a + 0.2)  # type: ignore[call-overload]
    return bool(b > a * (1 + margin) and b > felt)


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Coverage, sign and size by metric, and harm by advice."""
    out: dict[str, Any] = {"cases": len(rows)}
    for name in METRICS:
        seen = [r["metrics"][name] for r in rows if name in r["metrics"]]
        decided = [m for m in seen if abs(m["truth"]) >= DECIDED]
        out[name] = {
            "n": len(seen),
            "coverage": _mean([m["in"] for m in seen]),
            "coverage_decided": _mean([m["in"] for m in decided]),
            "sign": _mean([m["truth"] * m["mid"] > 0 for m in decided]),
            "decided": len(decided),
            "error": float(np.median([abs(m["truth"] - m["mid"]) for m in seen])) if seen else None,
            "half_width": float(np.median([(m["high"] - m["low"]) / 2 for m in seen])) if seen else None,
        }
    every = [m for r in rows for m in r["metrics"].values()]
    decided = [m for m in every if abs(m["truth"]) >= DECIDED]
    # A sign is told where the whole interval lies on one side.
    told = [m for m in decided if m["low"] > 0 or m["high"] < 0]
    out["all"] = {
        "coverage": _mean([m["in"] for m in every]),
        "coverage_decided": _mean([m["in"] for m in decided]),
        "sign": _mean([m["truth"] * m["mid"] > 0 for m in decided]),
        "sign_told": _mean([m["truth"] * m["mid"] > 0 for m in told]),
        "told": len(told),
        "decided": len(decided),
    }
    for name in ("recommend", "canary", "no"):  # by the rule of now, whatever it was when the cases were played
        of = [r for r in rows if advice(r["p_meets"], r["p_harm"]) == name]
        out[name] = {"cases": len(of), "harmed": sum(bool(r["harm"]) for r in of)}
    out["p_harm"] = [_calibrated(rows, low, high) for low, high in itertools.pairwise(HARM_BINS)]
    # What fix --apply tries without being asked: a canary that is likelier to harm than not is none.
    tried = [r for r in rows if advice(r["p_meets"], r["p_harm"]) == "canary" and r["p_harm"] < MOST_HARM]
    out["canary_tried"] = {"cases": len(tried), "harmed": sum(bool(r["harm"]) for r in tried)}
    return out


def _calibrated(rows: list[dict[str, Any]], low: float, high: float) -> dict[str, Any]:
    """What was said of harm and what came, of the cases whose P(harm) lies there."""
    of = [r for r in rows if low <= r["p_harm"] < high]
    said = round(float(np.mean([r["p_harm"] for r in of])), 3) if of else None
    return {
        "from": low,
        "to": min(high, 1.0),
        "cases": len(of),
        "said": said,
        "came": _mean([bool(r["harm"]) for r in of]),
    }


def _mean(values: list[bool]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


def show(out: dict[str, Any]) -> None:
    print(f"{'metric':14}{'n':>6}{'covered':>9}{'decided':>9}{'covered':>9}{'sign':>8}{'error':>8}{'+-':>8}")
    for name in METRICS:
        m = out[name]
        cells = (m["coverage"], m["decided"], m["coverage_decided"], m["sign"], m["error"], m["half_width"])
        print(f"{name:14}{m['n']:6}" + "".join(f"{'' if c is None else f'{c:.3g}':>9}" for c in cells))
    print({key: out[key] for key in ("cases", "all", "recommend", "canary", "canary_tried", "no", "p_harm")})


def real() -> list[dict[str, Any]]:
    """Pairs of recordings of real servers that differ in flags: the change is predicted from the first alone."""
    pairs = (
        (
            "cpu_unchunked_prefill",
            "cpu_chunked_256",
            {"--no-enable-chunked-prefill": "", "--max-num-batched-tokens": "256"},
        ),
    )
    found = []
    for before, after, change in pairs:
        recordings = [read_recording(SHARED / "recordings" / name) for name in (before, after)]
        diagnosis, state = diagnose(recordings[0]).diagnosis, states_of(recordings[0])[0]
        prediction = predict(stage_of(diagnosis, state), WhatIfAsked(change))
        if not isinstance(prediction, Prediction):
            print(before, prediction.because.en)
            continue
        window = prediction.start - state.start, prediction.start - state.start + prediction.seconds
        sides = [_recorded(states_of(recording)[0], *window) for recording in recordings]
        found.append(row(before, prediction, *sides))
        for name, metric in found[-1]["metrics"].items():
            print(
                f"{before:24}{name:14}" + "".join(f"{metric[k]:+8.2f}" for k in ("truth", "low", "mid", "high")),
                metric["in"],
            )
    return found


def _recorded(state: Any, start: float, stop: float) -> dict[str, float]:
    inside = state.valid & (state.t_start >= start - 1) & (state.t_end <= stop + 1)
    values = {"ttft_mean": mean_of(state.ttft, inside), "itl_mean": mean_of(state.itl, inside)}
    values["tokens_per_s"] = float(np.nansum(state.generation_tokens[inside]) / state.dt[inside].sum())
    return {**dict.fromkeys(METRICS, float("nan")), **values}


def keep(**figures: object) -> None:
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with (ROOT / "benchmarks" / "results" / "whatif.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": git.stdout.strip(), "time": int(time.time()), **figures}) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", type=int, default=48)
    parser.add_argument("--changes", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", action="store_true", help="Pairs of recordings of real servers instead.")
    parser.add_argument("--rows", type=Path, help="Write every case there, a JSON object a line.")
    parser.add_argument("--read", type=Path, nargs="+", help="Sum up cases that were written so (several at once).")
    asked = parser.parse_args()
    if asked.read:
        out = summary([json.loads(line) for file in asked.read for line in file.read_text().splitlines()])
        show(out)
        keep(files=[file.stem for file in asked.read], **out)
        return 0
    if asked.real:
        keep(real=real())
        return 0
    rows = []
    for found in cases(asked.windows, asked.changes, asked.seed):
        rows.append(found)
        if asked.rows:
            with asked.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
    out = summary(rows)
    show(out)
    keep(seed=asked.seed, windows=asked.windows, **out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

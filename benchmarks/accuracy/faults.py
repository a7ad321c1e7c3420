"""Each fault of the emulator, diagnosed from what the emulated server shows. Emulated accuracy is no real accuracy.

A run of 90 s of emulated time, the fault from 30 s on, over the signals metrics, GPU, log and client. Prints what was found
and appends a JSON line to ``benchmarks/results/faults.jsonl``.

    python benchmarks/accuracy/faults.py [ID …]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.recorder import record_run
from whystall.errors import WhystallError
from whystall.pipeline import diagnose
from whystall.sources.files.recording import read_recording

ROOT = Path(__file__).resolve().parents[2]
# What is right too: the limit where the id is the trigger, or the trigger where it is the limit.
ALSO = {
    "longer_prompts": {"prefill_bound", "prefill_interference"},
    "longer_outputs": {"kv_capacity"},
    "overload": {"prefill_bound"},  # so many prompts fill the engine with prefill first (method.md 2.1)
    "prefill_bound": {"longer_prompts"},
    "sampler_cpu": {"engine_loop_cpu"},  # sampling on the host is work of the engine's loop
    "oom": {"engine_dead"},
    "gpu_fault": {"engine_dead"},
}
# No incident but a state: a window that is busy for a third of its time is not idle.
IDLE = {"low_demand", "client_limited"}
FROM_THE_START = IDLE | {"weight_loading", "warm_up"}
AT_S = 30.0


def found(fault: str, folder: Path, at: float) -> tuple[str, list[str]]:
    """The verdict and the causes, most probable first."""
    planned = [] if fault == "healthy" else [Planned(FAULTS[fault], at, 0.5 if fault == "weight_loading" else 1.0)]
    deployment = Deployment(prepared(healthy_serving(fault), planned), start=1_790_000_000.0)
    for plan in planned:
        inject(deployment, plan)
    record_run(deployment, folder, seconds=90)
    try:
        diagnosis = diagnose(read_recording(folder)).diagnosis
    except WhystallError as error:
        return f"error: {error.message}", []
    return diagnosis.verdict, [cause.id for cause in diagnosis.causes]


def healthy_hour(swing: float = 0.45, window_s: float = 60.0) -> dict[str, int]:
    """Verdicts of an emulated hour under a load that swings, window by window."""
    plain = healthy_serving("healthy")
    traffic = msgspec.structs.replace(plain.traffic, swing=swing, period_s=400.0)
    deployment = Deployment(msgspec.structs.replace(plain, traffic=traffic), start=1_790_000_000.0)
    verdicts: dict[str, int] = {}
    for _ in range(int(3600 / window_s)):
        with tempfile.TemporaryDirectory() as folder:
            record_run(deployment, Path(folder), seconds=window_s)
            verdict = diagnose(read_recording(Path(folder))).diagnosis.verdict
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
    return verdicts


def right(fault: str, verdict: str, causes: list[str]) -> bool:
    """Whether the answer names the fault first; a doubt that names it is none."""
    if fault == "healthy":
        return verdict == "healthy"
    wanted = "healthy" if fault in IDLE else "bottleneck"
    return verdict == wanted and causes[:1] != [] and causes[0] in {fault} | ALSO.get(fault, set())


def keep(**figures: object) -> None:
    """A line of ``figures`` for the results."""
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with (ROOT / "benchmarks" / "results" / "faults.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": git.stdout.strip(), "time": int(time.time()), **figures}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*", default=["healthy", *FAULTS])
    parser.add_argument("--hour", action="store_true", help="An emulated healthy hour instead.")
    asked = parser.parse_args()
    if asked.hour:
        verdicts = healthy_hour()
        print(verdicts)
        keep(healthy_hour=verdicts)
        return
    rows: dict[str, dict[str, object]] = {}
    for fault in asked.ids:
        with tempfile.TemporaryDirectory() as folder:
            verdict, causes = found(fault, Path(folder), 0.0 if fault in FROM_THE_START else AT_S)
        first = right(fault, verdict, causes)
        among = first or bool(({fault} | ALSO.get(fault, set())) & set(causes[:3]))
        rows[fault] = {"verdict": verdict, "causes": causes[:3], "first": first, "among_three": among}
        print(
            f"{fault:26}{'ok ' if first else 'in3' if among else '-  '} {verdict:12} {' '.join(causes[:3])}", flush=True
        )
    first, three = (sum(bool(row[key]) for row in rows.values()) for key in ("first", "among_three"))
    print(f"right (the healthy server included) {first} of {len(rows)}, among the first three {three}")
    keep(first=first, of=len(rows), rows=rows)


if __name__ == "__main__":
    main()

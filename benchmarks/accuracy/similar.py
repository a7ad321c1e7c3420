"""Are the kept cases that are called alike really of the same kind? Emulated accuracy is no real accuracy.

Keeps a case of each fault of the emulator that the diagnosis names, asks with a second run of each (another seed, another
severity), and with the shared recordings of real servers, which had no part in choosing anything. Prints, by threshold, how
many of those that are shown have the same planted cause, and how many of the runs find their like. Appends a JSON line to
``benchmarks/results/similar.jsonl``.

    python benchmarks/accuracy/similar.py [RECORDINGS]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from whystall.cases.signature import signature_of, similarity
from whystall.cases.similar import ALIKE
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.recorder import record_run
from whystall.errors import WhystallError
from whystall.model.case import Signature
from whystall.pipeline import diagnose
from whystall.sources.files.recording import read_recording

ROOT = Path(__file__).resolve().parents[2]
THRESHOLDS = (0.5, 0.6, ALIKE, 0.8, 0.9)
# Kept under another name, and the same kind of incident: see ALSO of faults.py.
ALSO = {
    "longer_prompts": {"prefill_bound"},
    "prefill_bound": {"longer_prompts"},
    "multimodal_preprocessing": {"frontend_cpu"},
    "frontend_cpu": {"multimodal_preprocessing"},
    "sampler_cpu": {"engine_loop_cpu"},
    "engine_loop_cpu": {"sampler_cpu"},
    "config_regression": {"seat_cap"},
    "seat_cap": {"config_regression"},
    "oom": {"engine_dead"},
    "gpu_fault": {"engine_dead"},
    "engine_dead": {"oom", "gpu_fault"},
}
LEFT_OUT = {"low_demand", "client_limited", "weight_loading", "startup_failure"}  # no incident of a server that serves


def signature(folder: Path) -> Signature | None:
    """Of what a recording shows; None where no bottleneck was found."""
    try:
        found = diagnose(read_recording(folder)).diagnosis
    except WhystallError:
        return None
    return signature_of(found) if found.verdict == "bottleneck" and found.causes else None


def emulated(fault: str, seed: int, severity: float) -> Signature | None:
    planned = [Planned(FAULTS[fault], 30.0, severity)]
    serving = msgspec.structs.replace(prepared(healthy_serving(fault), planned), seed=seed)
    deployment = Deployment(serving, start=1_790_000_000.0)
    for plan in planned:
        inject(deployment, plan)
    with tempfile.TemporaryDirectory() as folder:
        record_run(deployment, Path(folder), seconds=90)
        return signature(Path(folder))


def recorded(folder: Path) -> list[tuple[set[str], Signature]]:
    """The real recordings with an incident: what was planted or is right too, and the signature."""
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    shown = [(entry, signature(folder / name)) for name, entry in sorted(truth.items()) if entry["causes"]]
    return [({*entry["causes"], *entry.get("also", ())}, one) for entry, one in shown if one is not None]


def counted(kept: dict[str, Signature], asked: list[tuple[set[str], Signature]], threshold: float) -> dict[str, int]:
    """Of the queries: how many had a nearest case above ``threshold``, and how many of those one of the right kind."""
    shown = right = 0
    for planted, asking in asked:
        score, name = max((similarity(asking, one).score, name) for name, one in kept.items())
        if score >= threshold:
            shown += 1
            right += name in planted
    return {"asked": len(asked), "shown": shown, "right": right}


def main() -> None:
    kept = {fault: one for fault in FAULTS if fault not in LEFT_OUT and (one := emulated(fault, 1, 1.0)) is not None}
    asked = [({fault} | ALSO.get(fault, set()), one) for fault in kept if (one := emulated(fault, 2, 1.2)) is not None]
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "recordings"
    real = recorded(folder) if folder.is_dir() else []
    print(
        f"{len(kept)} kept emulated cases; asked with {len(asked)} other emulated runs and {len(real)} real recordings"
    )
    rows = {}
    for threshold in THRESHOLDS:
        rows[str(threshold)] = {"emulated": counted(kept, asked, threshold), "real": counted(kept, real, threshold)}
        for name, row in rows[str(threshold)].items():
            print(
                f"{threshold:4}  {name:9} shown {row['shown']:3} of {row['asked']:3}, of the same kind {row['right']:3}"
            )
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with (ROOT / "benchmarks" / "results" / "similar.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"commit": git.stdout.strip(), "time": int(time.time()), "rows": rows}) + "\n")


if __name__ == "__main__":
    main()

"""Is the right cause reproduced, and a wrong one not: on the real recordings with phases and on emulated faults.

For each incident the emulator is asked about its right cause and about wrong ones (its look-alikes and the commonest limits,
without its own trigger or limit), whatever the diagnosis said. The two kinds are reported apart: emulated
accuracy is no real accuracy. Appends a JSON line to ``benchmarks/results/counterfactual.jsonl``.

    python benchmarks/accuracy/counterfactual.py [--seed N] [ID …]

The seed of the emulated loads is drawn at run time where none is given. With ``ID`` only those faults, and nothing is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whystall.causes.catalogue import catalogue
from whystall.causes.counterfactual import TREATMENTS, counterfactual
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.profiles.matching import profile_for
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.emulator.server.recorder import record_run
from whystall.model.diagnosis import Cause
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.pipeline import diagnose, states_of
from whystall.sources.files.recording import read_recording

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("WHYSTALL_SHARED", ROOT.parent / "shared"))
# Real incidents, the first five with a healthy phase before them: what is right, and what is true of them as well.
REAL = {
    "kv_overflow": ({"kv_capacity"}, {"overload", "burst"}),
    "seq_cap": ({"seat_cap"}, {"overload", "burst"}),
    "prefix_collapse": ({"prefix_cache_loss"}, {"prefill_bound"}),
    "long_context_step": ({"kv_capacity", "longer_prompts"}, {"prefill_bound"}),
    "prefill_interference": (
        {"prefill_interference"},
        {"prefill_bound", "longer_prompts", "overload", "head_of_line_prompt"},
    ),
    "token_budget": ({"prefill_bound"}, {"token_budget", "prefill_interference", "overload", "burst"}),
    "cpu_kv_overflow": ({"kv_capacity"}, {"overload", "burst"}),
    "cpu_queue_limit": ({"queue_limit"}, {"overload", "burst", "seat_cap"}),
    "cpu_chunked_256": (
        {"prefill_bound", "token_budget", "prefill_interference"},
        {"longer_prompts", "overload", "head_of_line_prompt"},
    ),
    "cpu_unchunked_prefill": (
        {"prefill_interference"},
        {"prefill_bound", "longer_prompts", "overload", "head_of_line_prompt"},
    ),
}
ALWAYS = {"kv_capacity", "seat_cap", "token_budget", "longer_outputs"}
# What an emulated fault is besides its own name: the limit through which it hurts, or what sets that off.
EMULATED = {
    "kv_capacity": {"longer_prompts", "longer_outputs", "overload"},
    "seat_cap": {"overload"},
    "queue_limit": {"overload", "seat_cap"},
    "token_budget": {"prefill_bound", "prefill_interference"},
    "prefill_bound": {"longer_prompts", "overload", "prefill_interference"},
    "prefill_interference": {"longer_prompts", "head_of_line_prompt", "prefill_bound", "overload", "token_budget"},
    "head_of_line_prompt": {"longer_prompts", "prefill_bound", "kv_capacity", "prefill_interference"},
    "longer_prompts": {"prefill_bound", "prefill_interference", "kv_capacity", "head_of_line_prompt"},
    "longer_outputs": {"kv_capacity"},
    "overload": {"prefill_bound", "burst", "prefill_interference"},
    "burst": {"overload", "prefill_bound", "prefill_interference"},
    "prefix_cache_loss": {"prefill_bound", "prefill_interference"},
    "launch_bound": {"engine_loop_cpu"},
    "engine_loop_cpu": {"launch_bound"},
    "gpu_throttle": {"slow_kernel"},
    "slow_kernel": {"gpu_throttle"},
    "sampler_cpu": {"engine_loop_cpu", "launch_bound"},
    "straggler_rank": {"comm_bound"},
}
STEP_TIME = {
    "launch_bound",
    "engine_loop_cpu",
    "gpu_throttle",
    "slow_kernel",
    "comm_bound",
    "sampler_cpu",
    "straggler_rank",
}  # one slow step is like another


def asked(recording: Recording, right: set[str], also: set[str], profile: StepProfile | None) -> dict[str, Any]:
    """What the emulator says of the right causes and of the wrong ones. Empty where nothing hurts or can be rebuilt."""
    found, state = diagnose(recording).diagnosis, states_of(recording)[0]
    alike = (
        {other.cause for name in right for other in catalogue()[name].look_alikes}
        if right <= set(catalogue())
        else set()
    )
    wrong = (alike | ALWAYS) & set(TREATMENTS) - right - also - (STEP_TIME if right & STEP_TIME else set())
    causes = tuple(Cause(name, 1.0, "limit", Text("", "")) for name in [*sorted(right), *sorted(wrong)])
    sure = msgspec.structs.replace(found, verdict="bottleneck", causes=causes)
    own = state.configuration
    gpu = own.device if own.device == "cpu" else own.gpu_name
    ranks, eager = own.tensor_parallel or 1, own.device == "cpu" or bool(own.enforce_eager)
    known = profile or profile_for(gpu, own.weights_bytes, model=own.model, tensor_parallel=ranks, eager=eager)
    checked = counterfactual(sure, state, known, most=len(causes)) if known else sure
    return {
        cause.id: {
            "right": cause.id in right,
            "holds": said.holds,
            "in": said.sufficiency,
            "out": said.necessity,
            "whole": said.emulated,
        }
        for cause in checked.causes
        if (said := cause.reproduced) is not None
    }


def real() -> dict[str, dict[str, Any]]:
    return {n: asked(read_recording(SHARED / "recordings" / n), *sets, None) for n, sets in REAL.items()}


def emulated(faults: Sequence[str], seed: int) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for fault in faults:
        serving = msgspec.structs.replace(healthy_serving(fault), seed=seed)
        planned = [Planned(FAULTS[fault], 30.0, 1.0)]
        deployment = Deployment(prepared(serving, planned), start=1_790_000_000.0)
        for plan in planned:
            inject(deployment, plan)
        with tempfile.TemporaryDirectory() as folder:
            record_run(deployment, Path(folder), seconds=90)
            print(f"  asking about {fault}", flush=True)
            rows[fault] = asked(read_recording(Path(folder)), {fault}, EMULATED.get(fault, set()), serving.profile)
    return rows


def shares(rows: dict[str, dict[str, Any]]) -> dict[str, list[int]]:
    """Reproduced, of how many, for the right causes and for the wrong ones."""
    said = [row for case in rows.values() for row in case.values()]
    return {
        kind: [sum(row["holds"] for row in said if row["right"] == of), sum(1 for row in said if row["right"] == of)]
        for kind, of in (("right", True), ("wrong", False))
    }


def show(title: str, rows: dict[str, dict[str, Any]]) -> None:
    print(title)
    for case, said in rows.items():
        for name, row in said.items():
            if row["right"] or row["holds"]:
                mark = "right" if row["right"] else "WRONG"
                word = "reproduced" if row["holds"] else "not reproduced"
                print(f"  {case:24}{mark} {name:24}{word:16} in {row['in']} out {row['out']} whole {row['whole']}")
        if not said:
            print(f"  {case:24}nothing to ask")
    for kind, (good, of) in shares(rows).items():
        print(f"  {kind} causes reproduced: {good} of {of}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    asked = parser.parse_args()
    start = time.perf_counter()
    print("seed", asked.seed)
    on: dict[str, dict[str, dict[str, Any]]] = {} if asked.ids else {"real": real()}
    on["emulated"] = emulated(asked.ids or [name for name in TREATMENTS if name in FAULTS], asked.seed)
    for title, rows in on.items():
        show(title, rows)
    if asked.ids:
        return
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {
        "commit": git.stdout.strip(),
        "time": int(time.time()),
        "seed": asked.seed,
        "command": f"python benchmarks/accuracy/counterfactual.py --seed {asked.seed}",
        "seconds": round(time.perf_counter() - start, 1),
        "shares": {title: shares(rows) for title, rows in on.items()},
        "rows": on,
    }
    with (ROOT / "benchmarks" / "results" / "counterfactual.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

"""How soon steps that take a tenth longer are found, and how often they are found where nothing changed.

Emulated engines on every hardware profile and workload; from ``AT_S`` on every part of a step (kernels, host and links)
takes 10% longer, under the same load. At each page after that the window so far is looked at: a regression is found when
the diagnosis has ``step.slower`` (or ``step.residual``, where users feel something) among its anomalies. The same engines
without a change count the false findings. Seeds are drawn at run time. Prints the delays and appends a line to
``benchmarks/results/regression.jsonl``.

    python benchmarks/accuracy/regression.py --engines 20 --interval 1
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

from healthy import Pages  # noqa: E402
from healthy_engine import START, HealthyEngine, Scenario, drawn  # noqa: E402

from whystall.emulator.server.faults.mechanism import profiles, scale  # noqa: E402
from whystall.evidence.residual import residual  # noqa: E402
from whystall.evidence.scene import Scene  # noqa: E402
from whystall.pipeline import states_of  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "regression.jsonl"
AT_S = 120.0
WITHIN_S = 30.0
AFTER_S = 60.0
PARTS = ("floor_s", "base_s", "token_s", "host_s", "host_request_s", "host_mixed_s", "host_eager_s", "decode_base_s",
         "decode_context_s", "decode_request_s", "mixed_base_s", "mixed_context_s", "mixed_request_s", "pair_s", "link_s",
         "link_token_s")  # fmt: skip


def delay(scenario: Scenario, by: float, interval_s: int) -> float:
    """Seconds until it is found; inf where it is not in ``AFTER_S``, and negative where something was before it began."""
    engine = HealthyEngine(scenario)
    if by != 1.0:
        engine.deployment.at(START + AT_S, lambda d, _now: profiles(d, scale(**dict.fromkeys(PARTS, by))))
    pages = Pages(engine, interval_s)
    for stop in np.arange(AT_S, AT_S + AFTER_S + 1, max(interval_s, 2)):
        state = states_of(pages.recording(0, stop, interval_s))[0]
        if any(evidence.anomaly for evidence in residual(Scene(state))):
            return float(stop) - AT_S if stop > AT_S else -1.0
    return float("inf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", type=int, default=10)
    parser.add_argument("--interval", type=int, default=1, help="Seconds between pages.")
    parser.add_argument("--by", type=float, default=1.1, help="How many times longer a step takes.")
    parser.add_argument("--seed", type=int, help="By default a new one.")
    parser.add_argument("--dry", action="store_true", help="Print, and keep no line.")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else time.time_ns() % 1_000_000
    print(f"seed {seed}")
    found, false = [], []
    calm = (s for s in drawn(seed, (AT_S + AFTER_S) / 60) if s.shape in ("steady", "swing"))
    for scenario in itertools.islice(calm, asked.engines):
        found.append(delay(scenario, asked.by, asked.interval))
        false.append(delay(scenario, 1.0, asked.interval))
        print(f"{scenario.key:70} {found[-1]:6.0f} s   without a change {false[-1]:6.0f}", flush=True)
    seen = np.array([d for d in found if d >= 0])  # what was found before it began says nothing
    figures = {
        "engines": len(seen),
        "within_30_s": round(float((seen <= WITHIN_S).mean()), 3),
        "within_60_s": round(float(np.isfinite(seen).mean()), 3),
        "median_s": float(np.median(seen)),
        "false": int(np.isfinite(false).sum()),
        "false_hours": round(len(false) * (AT_S + AFTER_S) / 3600, 2),
    }
    print(figures)
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), "seed": seed, "command": " ".join(sys.argv[1:]),
            "by": asked.by,
            "interval_s": asked.interval, **figures}  # fmt: skip
    if not asked.dry:
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

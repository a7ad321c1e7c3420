"""The emulated scheduler against vLLM's own, over newly drawn configurations: how many, how many steps, how many differ.

Needs vLLM (the Python that has it in $WHYSTALL_VLLM_PYTHON; CONTRIBUTING.md says how it is installed). Appends a JSON
line to ``benchmarks/results/scheduler.jsonl`` and fails where a step differs.

    WHYSTALL_VLLM_PYTHON=… python benchmarks/fidelity/scheduler.py [--tables 100] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
sys.path.insert(0, str(GOLDEN))

from parity import first_difference, load  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000, 10_000_000))
    asked = parser.parse_args()
    python = os.environ.get("WHYSTALL_VLLM_PYTHON")
    if not python:
        parser.error("set WHYSTALL_VLLM_PYTHON to the Python that has vLLM")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tables.json.gz"
        subprocess.run(
            [python, str(GOLDEN / "real_scheduler.py"), str(out), str(asked.tables), str(asked.seed)], check=True
        )
        tables = load(out)
    steps = sum(len(table["rows"]) for table in tables)
    differ = {table["seed"]: first for table in tables if (first := first_difference(table)) is not None}
    print(f"{len(tables)} configurations, {steps:,} steps, {len(differ)} differ: {differ or 'none'}")
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {
        "commit": git.stdout.strip(),
        "time": int(time.time()),
        "seed": asked.seed,
        "configurations": len(tables),
        "steps": steps,
        "differ": len(differ),
    }
    with (ROOT / "benchmarks" / "results" / "scheduler.jsonl").open("a", encoding="utf-8") as results:
        results.write(json.dumps(line) + "\n")
    return int(bool(differ))


if __name__ == "__main__":
    raise SystemExit(main())

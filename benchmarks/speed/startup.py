"""How long ``whystall --help`` and ``whystall --version`` take, from the start of the process to its end.

The median of some runs after one that warms the disk cache; must stay under 200 ms. Appends one JSON line to
``benchmarks/results/startup.jsonl``.

    python benchmarks/speed/startup.py [--runs 15]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIMIT_MS = 200
COMMANDS = ("--help", "--version")


def run_ms(argument: str) -> float:
    """Wall time of one run, milliseconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "whystall", argument], check=True, capture_output=True)
    return (time.perf_counter() - started) * 1e3


def main() -> int:
    """Print the medians, keep them, and fail where one is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    for argument in COMMANDS:
        run_ms(argument)
    figures = {f"{arg}_ms": round(statistics.median(run_ms(arg) for _ in range(runs)), 1) for arg in COMMANDS}
    print("\n".join(f"whystall {name.removesuffix('_ms'):20} {value:8.1f} ms" for name, value in figures.items()))
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), "runs": runs, **figures}
    with (ROOT / "benchmarks" / "results" / "startup.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return int(max(figures.values()) > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())

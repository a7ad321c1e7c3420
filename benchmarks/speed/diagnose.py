"""How long ``whystall diagnose FOLDER --json`` takes, from the start of the process to its end.

Two folders: a recording of a minute as it is, and one of thirty minutes at a scrape a second (two runs of one server,
set end to end again and again, the incident last). Wall and CPU seconds, the best of some runs. The limit is 3 s from
start to finish; since one process does it all on one core, CPU seconds are what it takes on a machine of its own, and
they decide here: the wall clock also counts whatever else this machine does. Appends one JSON line to
``benchmarks/results/diagnose.jsonl``.

    python benchmarks/speed/diagnose.py [--runs 5] [--minutes 30] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from itertools import chain, repeat
from os import environ
from pathlib import Path
from typing import Any

from long_recording import splice

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = Path(environ.get("WHYSTALL_SHARED", ROOT.parent / "shared")) / "recordings"
LIMIT_S = 3.0
CALM, INCIDENT = "healthy", "kv_overflow"


def run_s(folder: Path) -> tuple[float, float, str]:
    """Wall seconds, CPU seconds (user and system, children included) and the answer of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "whystall", "diagnose", str(folder), "--json"], capture_output=True, check=False
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = json.loads(done.stdout)
    cause = answer["causes"][0]["id"] if answer["causes"] else ""
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, f"{answer['verdict']} {cause}"


def long_runs(minutes: float) -> list[Path]:
    """Calm runs, and the incident at the end, so many that their pages fill the minutes."""
    calm, incident = RECORDINGS / CALM, RECORDINGS / INCIDENT
    seconds = 50  # of a calm run; the incident's is 65
    return [*repeat(calm, max(round((60 * minutes - 65) / seconds), 1)), incident]


def profiled(folder: Path) -> None:
    """Where the time goes, on stdout."""
    from whystall.pipeline import diagnose
    from whystall.sources.files.recording import read_recording

    profile = cProfile.Profile()
    profile.runcall(lambda: diagnose(read_recording(folder)))
    pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


def main() -> int:
    """Print the figures, keep them, and fail where the CPU seconds are over the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--profile", action="store_true", help="say where the time goes instead")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        scrapes = splice(long_runs(given.minutes), Path(name))
        if given.profile:
            profiled(Path(name))
            return 0
        folders = {"minute": RECORDINGS / INCIDENT, "half_hour": Path(name)}
        runs = {size: [run_s(folder) for _ in range(given.runs)] for size, folder in folders.items()}
    figures: dict[str, Any] = dict(chain.from_iterable(_figures(size, found) for size, found in runs.items()))
    print("\n".join(f"{name:24} {value}" for name, value in figures.items()))
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), "runs": given.runs, "scrapes": scrapes, **figures}
    with (ROOT / "benchmarks" / "results" / "diagnose.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return int(max(figures["minute_cpu_s"], figures["half_hour_cpu_s"]) > LIMIT_S)


def _figures(size: str, runs: list[tuple[float, float, str]]) -> list[tuple[str, float | str]]:
    walls, cpus, answers = zip(*runs, strict=True)
    return [(f"{size}_wall_s", round(min(walls), 2)), (f"{size}_cpu_s", round(min(cpus), 2)), (size, answers[0])]


if __name__ == "__main__":
    sys.exit(main())

"""How often the first cause is right on emulated incidents. Emulated accuracy is no real accuracy.

Runs every fault of the emulator at three severities under five workloads and three loads on hardware that fitting never
saw, with healthy runs and pairs of faults between them, looks at each with signals missing, and weighs what was seen.
A run is kept where users feel it and a fifth of a latency, of throughput or of the answers is lost against the same run
without the fault. Prints the figures by arm and by cause and appends them to ``benchmarks/results/corpus.jsonl``.

    python benchmarks/accuracy/corpus.py               # a small sample, about a minute
    python benchmarks/accuracy/corpus.py --all         # the long form; what was run is kept and not run again
    python benchmarks/accuracy/corpus.py --all --seed 7 --each 20
    python benchmarks/accuracy/corpus.py --fit         # make the table of weights again (corpus_fit.py)

Evidence is kept in ``--keep`` (default ``.corpus``), so that weighing it again after a change takes seconds. After a
change of the evidence itself another folder or seed is needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

from corpus_cases import PROFILES, WITHHELD, WITHHELD_TABLE, drawn  # noqa: E402
from corpus_rows import completed  # noqa: E402
from corpus_score import Weights, measured, misses, of_table  # noqa: E402

from whystall.causes.weights import WeightsTable, table  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "corpus.jsonl"
SHORT, LONG = 1, 4  # runs of each fault


def main() -> None:
    asked = _asked()
    if asked.fit:
        from corpus_fit import fit_table

        fit_table(asked.keep, asked.each or LONG, asked.jobs)
        return
    seed = asked.seed if asked.seed is not None else time.time_ns() % 1_000_000
    each = asked.each or (LONG if asked.all else SHORT)
    cases = drawn(seed, each, "blind")
    print(f"seed {seed}, {len(cases)} runs on {', '.join(PROFILES['blind'])}")
    rows = completed(cases, asked.keep / f"blind-{seed}-{each}.jsonl", asked.jobs)
    found = report(rows, asked.misses)
    keep(seed=seed, each=each, command=" ".join(sys.argv[1:]), **found)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="The long form.")
    parser.add_argument("--fit", action="store_true", help="Fit the weights and write the table.")
    parser.add_argument("--seed", type=int, help="Seed of the scored runs; by default a new one.")
    parser.add_argument("--each", type=int, help="Runs of each fault.")
    parser.add_argument("--jobs", type=int, default=2, help="Processes.")
    parser.add_argument("--keep", type=Path, default=ROOT / ".corpus", help="Where evidence is kept.")
    parser.add_argument("--misses", action="store_true", help="Print what was said instead.")
    return parser.parse_args()


def report(rows: list[dict[str, Any]], with_misses: bool = False) -> dict[str, Any]:
    """Print the figures of ``rows`` and return them."""
    weights, strangers = of_table(table()), withheld_weights()
    kept = [row for row in rows if "arms" in row]
    found = measured(kept, weights, strangers, WITHHELD)
    print(f"{len(kept)} of {len(rows)} kept (the others: users feel nothing, or it was unwell before)")
    _arms(found["arms"])
    for arm in ("all", "metrics"):
        print(f"\n{arm}: right of, by cause")
        print("  " + ", ".join(f"{c} {good}/{of}" for c, (good, of) in found["by_cause"][arm].items()))
        print("  look-alikes: " + ", ".join(f"{p} {good}/{of}" for p, (good, of) in found["look_alikes"][arm].items()))
        for what in ("pairs", "withheld_abstained", "without_a_file"):
            good, of = found[what][arm]
            print(f"  {what}: {good}/{of}")
        print(f"  healthy: {found['healthy'][arm]}")
    if with_misses:
        for arm in ("all", "metrics"):
            print(f"\n{arm}: said instead")
            for said, count in misses(kept, weights, arm).most_common():
                print(f"  {count:4} {said}")
    return {"kept": len(kept), "of": len(rows), **found}


def withheld_weights() -> Weights:
    """Weights that never saw the withheld causes: ``--fit`` makes them beside the package's."""
    return of_table(msgspec.json.decode(WITHHELD_TABLE.read_bytes(), type=WeightsTable))


def _arms(arms: dict[str, dict[str, Any]]) -> None:
    print(
        f"\n{'arm':20}{'n':>5} {'AC@1':>6} {'AC@3':>6} {'Avg@5':>6} {'ECE':>6} {'Brier':>6} {'answers':>8} "
        f"{'right':>6} {'at 80%':>7} {'whys':>6}"
    )
    for arm, f in arms.items():
        print(
            f"{arm:20}{f['n']:5} {f['at_1']:6.3f} {f['at_3']:6.3f} {f['avg_5']:6.3f} {f['ece']:6.3f} {f['brier']:6.3f} "
            f"{f['answered']:8.3f} {f['right_answered']:6.3f} {f['selective_80']:7.3f} {f['grounded']:6.3f}"
        )


def keep(**found: object) -> None:
    """A line for the results."""
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    with RESULTS.open("a", encoding="utf-8") as out:
        out.write(json.dumps({"commit": git.stdout.strip(), "time": int(time.time()), **found}) + "\n")


if __name__ == "__main__":
    main()

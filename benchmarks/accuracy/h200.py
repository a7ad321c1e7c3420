"""Right answers on this project's own recordings of a real vLLM on H200s (tests/data/h200*, benchmarks/gpu).

Prints each answer and appends a JSON line a set to ``benchmarks/results/h200.jsonl``. A line marked ``blind`` is what the
rules gave that were in force when a set was recorded: the only figures here that say something about servers never seen.

    python benchmarks/accuracy/h200.py [h200|h200_blind|h200_quiet] [--blind TEXT]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from recordings.judging import onset_right, right, said, truth  # noqa: E402
from recordings.transform import metrics_only, thinned  # noqa: E402
from whystall.pipeline import diagnose  # noqa: E402
from whystall.sources.files.recording import read_recording  # noqa: E402

SETS = ("h200", "h200_blind", "h200_quiet", "h200_both")


def answers(folder: Path, name: str, want: dict[str, Any]) -> dict[str, bool]:
    """Whether each way of looking at a recording gives a right answer."""
    recording = read_recording(folder / "recordings" / name)
    seen = diagnose(recording).diagnosis
    page = diagnose(metrics_only(recording)).diagnosis
    page_want = want | want.get("metrics_only", {})
    print(f"{name:14}{'ok ' if right(seen, want) else '-  '} {said(seen)[:140]}")
    limit = {"names the planted limit": want["limit"] in [c.id for c in seen.causes]} if want.get("limit") else {}
    three = {c.id for c in seen.causes[:3]}
    both = (
        {"both causes in the first three": all(three & set(each) for each in want["both"])} if want.get("both") else {}
    )
    return (
        limit
        | both
        | {
            "all signals": right(seen, want),
            "its onset too": right(seen, want) and onset_right(seen, want),
            "metrics page alone, or unknown": right(page, page_want, also=True, unknown=True),
            "a scrape in 5 s": right(diagnose(thinned(recording, 5)).diagnosis, want),
        }
    )


def look(chosen: str, blind: str) -> None:
    """Judge one set; ``blind`` is what kind of first look it is, "" for every later one."""
    folder = ROOT / "tests" / "data" / chosen
    counted: dict[str, list[int]] = {}
    for name, want in truth(folder).items():
        for what, good in answers(folder, name, want).items():
            row = counted.setdefault(what, [0, 0])
            row[0] += good
            row[1] += 1
    for what, (good, of) in counted.items():
        print(f"{what:32}{good:5} of {of}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    line = {"commit": commit.stdout.strip(), "time": int(time.time()), "set": chosen, "right_of": counted}
    line |= {"blind": blind} if blind else {}
    with (ROOT / "benchmarks" / "results" / "h200.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--blind", default="", help="marks a first look, in words")
    given = parser.parse_args()
    for chosen in given.sets or SETS:
        look(chosen, given.blind)


if __name__ == "__main__":
    main()

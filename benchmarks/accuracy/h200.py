"""Right answers on this project's own recordings of a real vLLM on an H200 (tests/data/h200, benchmarks/gpu/incidents.py).

Prints each answer and appends a JSON line to ``benchmarks/results/h200.jsonl``. The line marked ``blind`` is what the rules
gave that were in force when the recordings were made: the only figure here that says something about servers never seen.

    python benchmarks/accuracy/h200.py
"""

from __future__ import annotations

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

DATA = ROOT / "tests" / "data" / "h200"


def answers(name: str, want: dict[str, Any]) -> dict[str, bool]:
    """Whether each way of looking at a recording gives a right answer."""
    recording = read_recording(DATA / "recordings" / name)
    seen = diagnose(recording).diagnosis
    page = diagnose(metrics_only(recording)).diagnosis
    page_want = want | want.get("metrics_only", {})
    print(f"{name:14}{'ok ' if right(seen, want) else '-  '} {said(seen)[:140]}")
    return {
        "all signals": right(seen, want),
        "its onset too": right(seen, want) and onset_right(seen, want),
        "metrics page alone, or unknown": right(page, page_want, also=True, unknown=True),
        "a scrape in 5 s": right(diagnose(thinned(recording, 5)).diagnosis, want),
    }


def main() -> None:
    counted: dict[str, list[int]] = {}
    for name, want in truth(DATA).items():
        for what, good in answers(name, want).items():
            row = counted.setdefault(what, [0, 0])
            row[0] += good
            row[1] += 1
    for what, (good, of) in counted.items():
        print(f"{what:32}{good:5} of {of}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    line = {"commit": commit.stdout.strip(), "time": int(time.time()), "right_of": counted}
    with (ROOT / "benchmarks" / "results" / "h200.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

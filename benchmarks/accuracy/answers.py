"""Right answers on the recordings of real servers: whole, thinned, in windows, and changed in ways that change nothing.

The tests in ``tests/recordings`` assert the same, one by one; this counts, with their own changes and their own judge.
Appends a JSON line to ``benchmarks/results/answers.jsonl``. Needs the shared recordings.

    python benchmarks/accuracy/answers.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from recordings.judging import onset_right, right, truth  # noqa: E402
from recordings.questions import DROPPED, FROZEN_AT, SAME, STALL, incidents, windows  # noqa: E402
from recordings.transform import cut, frozen, metrics_only, spliced, thinned  # noqa: E402
from whystall.model.recording import Recording  # noqa: E402
from whystall.pipeline import diagnose  # noqa: E402
from whystall.sources.files.recording import read_recording  # noqa: E402

SHARED = Path(os.environ.get("WHYSTALL_SHARED", ROOT.parent / "shared"))
Case = tuple[str, bool]  # what it is counted as, whether the answer is right


def answered(recording: Recording, want: dict[str, Any], *, onset: bool = False, **judged: bool) -> bool:
    found = diagnose(recording).diagnosis
    return right(found, want, **judged) and (not onset or onset_right(found, want))


def cases(name: str, recording: Recording, want: dict[str, Any]) -> Iterator[Case]:
    """Every answer that is asked of one recording."""
    page, page_want = metrics_only(recording), want | want.get("metrics_only", {})
    yield "all signals", answered(recording, want, onset=True)
    yield "metrics page alone", answered(page, page_want, onset=True)
    for seen, wanted in ((recording, want), (page, page_want)):
        for every in (5, 15):
            unknown = every == 15 or name in STALL
            yield f"a scrape in {every} s", answered(thinned(seen, every), wanted, also=True, unknown=unknown)
        for seconds in (12, 25):
            if seconds == 25 and seen.metrics.times[-1] - seen.metrics.times[0] < 60:
                continue
            for start, answer in windows(recording, name, wanted, seconds):
                yield f"windows of {seconds} s", answered(cut(seen, start, seconds), answer, also=True)
    for change, apply in SAME.items():
        yield change, answered(apply(recording), want, onset=True)
    for signal, nothing in DROPPED.items():
        without = msgspec.structs.replace(recording, **{signal: nothing})
        yield "a signal dropped", any(answered(without, w, unknown=True) for w in (want, page_want))


def joined(recordings: dict[str, Recording], wanted: dict[str, dict[str, Any]]) -> Iterator[Case]:
    """Another healthy start before an incident; an engine that stops."""
    for calm, name in incidents():
        want = wanted[name] | wanted[name].get("metrics_only", {})
        whole = spliced(recordings[calm], recordings[name], start=want["onset_s"] or 0.0)
        yield "another healthy start", answered(whole, want, also=True, unknown=True)
    for name, at in FROZEN_AT.items():
        want = {"verdict": "bottleneck", "causes": ["engine_hang"], "onset_s": at}
        yield "a frozen engine", answered(frozen(recordings[name], at, 45), want, onset=True)


def main() -> None:
    wanted = truth(SHARED)
    recordings = {name: read_recording(SHARED / "recordings" / name) for name in wanted}
    counted: dict[str, list[int]] = {}
    every = [case for name, recording in recordings.items() for case in cases(name, recording, dict(wanted[name]))]
    for what, good in [*every, *joined(recordings, wanted)]:
        row = counted.setdefault(what, [0, 0])
        row[0] += good
        row[1] += 1
    for what, (good, of) in counted.items():
        print(f"{what:24}{good:5} of {of}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    line = {"commit": commit.stdout.strip(), "time": int(time.time()), "right_of": counted}
    with (ROOT / "benchmarks" / "results" / "answers.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

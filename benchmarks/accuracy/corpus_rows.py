"""The rows of the corpus on disk: run what is missing, in several processes, and read them back."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from corpus_cases import Case
from corpus_run import accepted, run, unhealthy

Row = dict[str, Any]


def completed(cases: Sequence[Case], path: Path, jobs: int) -> list[Row]:
    """The rows of ``cases``; those that ``path`` lacks are run and appended to it, so that a run can go on later."""
    kept = {row["key"]: row for row in rows(path)}
    left = [case for case in cases if case.key not in kept]
    if left:
        path.parent.mkdir(parents=True, exist_ok=True)
        _end_the_last_line(path)
        with path.open("ab") as out, multiprocessing.Pool(jobs, maxtasksperchild=50) as pool:
            for number, row in enumerate(pool.imap_unordered(run, left), start=1):
                out.write(msgspec.json.encode(row) + b"\n")
                out.flush()
                kept[row["key"]] = row
                print(f"\r{number} of {len(left)} runs", end="", flush=True)
        print()
    return [_judged(kept[case.key], case) for case in cases]


def _judged(row: Row, case: Case) -> Row:
    """``row`` with what is right, and what is healthy, by today's reading of the emulator's record."""
    if "facts" not in row:
        return row
    reason = unhealthy(row["users"], row["facts"]) if case.control not in ("", "deploy") else ""
    if reason:
        return {name: value for name, value in row.items() if name != "arms"} | {"dropped": reason}
    return row | {"accepted": accepted(case, row["facts"])}


def _end_the_last_line(path: Path) -> None:
    """A line that was cut off stands by itself, so that the next one is whole."""
    if path.exists() and not path.read_bytes().endswith(b"\n"):
        with path.open("ab") as out:
            out.write(b"\n")


def rows(path: Path) -> list[Row]:
    """All whole rows of a file; a line that was cut off is left out."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found

"""Public incidents: each case's numbers as a short recording, diagnosed by the same pipeline, judged by the README's rule.

Only what was seen is read of a case (``whystall.sources.files.ticket``): never its class, cause, title, fix or the
explanation. Prints each case and each class, and appends a JSON line to ``benchmarks/results/incidents.jsonl``.
``incident_misses.yaml`` beside this file says of each case that is wrong why.

    python benchmarks/accuracy/incidents.py [FOLDER] [--only 001 …]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from whystall.errors import TooLittleData, WhystallError
from whystall.model.diagnosis import Diagnosis
from whystall.pipeline import diagnose
from whystall.sources.files.ticket import read_ticket

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("WHYSTALL_SHARED", ROOT.parent / "shared"))
MISSES = Path(__file__).with_name("incident_misses.yaml")
RIGHT = ("right", "rightly unknown")
_ROW = re.compile(r"^\|([^|]+)\|([^|]+)\|\s*$", re.MULTILINE)


def ids_of_classes(readme: Path) -> dict[str, set[str]]:
    """Our cause ids of each class of the README's table; nothing for those whose answer is healthy or unknown."""
    table: dict[str, set[str]] = {}
    for classes, ids in _ROW.findall(readme.read_text(encoding="utf-8")):
        named = set() if "(" in ids else {word.strip() for word in ids.split(",")}
        table |= {name.strip(): named for name in classes.split(",")}
    return table


def judge(case: dict[str, Any], found: Diagnosis, table: dict[str, set[str]]) -> str:
    """right, rightly unknown or wrong: ``../shared/incidents/README.md``."""
    if case["verdict_kind"] in ("nothing_wrong", "measurement_artifact"):
        return {"healthy": "right", "unknown": "rightly unknown"}.get(found.verdict, "wrong")
    if case["cause_confidence"] == "unresolved":
        return "rightly unknown" if found.verdict == "unknown" else "wrong"
    classes = [case["class"], *case.get("also", [])]
    wanted = set().union(*(table.get(name, set()) for name in classes))
    if not wanted:  # a class whose answer is that it cannot be told
        return "rightly unknown" if found.verdict == "unknown" else "wrong"
    first = found.causes[0].id if found.causes and found.verdict != "unknown" else ""
    return "right" if first in wanted else "wrong"


def answer(path: Path, table: dict[str, set[str]]) -> dict[str, Any]:
    """One case: what was said, and whether it is right."""
    case = yaml.safe_load(path.read_text(encoding="utf-8"))
    row = {"id": str(case["id"]), "class": case["class"], "confidence": case["cause_confidence"]}
    try:
        found = diagnose(read_ticket(path)).diagnosis
    except TooLittleData as error:
        return row | {"is": "not enough numbers", "said": error.message}
    except WhystallError as error:
        return row | {"is": "wrong", "said": f"{type(error).__name__}: {error.message}"}
    causes = [f"{cause.id} {cause.probability:.2f}" for cause in found.causes[:3]]
    return row | {
        "is": judge(case, found, table),
        "verdict": found.verdict,
        "causes": causes,
        "said": found.headline.en,
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    counts = Counter(row["is"] for row in rows)
    enough = len(rows) - counts["not enough numbers"]
    good = sum(counts[name] for name in RIGHT)
    return {
        "cases": len(rows),
        "enough": enough,
        "good": good,
        "share": round(good / enough, 3) if enough else None,
        **counts,
    }


def by_class(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for row in rows:
        found.setdefault(row["class"], Counter())[row["is"]] += 1
    return {name: dict(found[name]) for name in sorted(found)}


def answers(folder: Path, only: list[str] | None = None) -> list[dict[str, Any]]:
    table = ids_of_classes(folder / "README.md")
    paths = [path for path in sorted(folder.glob("*.yaml")) if not only or path.name[:3] in only]
    return [answer(path, table) for path in paths]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED / "incidents")
    parser.add_argument("--only", nargs="*")
    asked = parser.parse_args()
    rows = answers(asked.folder, asked.only)
    why = yaml.safe_load(MISSES.read_text(encoding="utf-8")) if MISSES.exists() else {}
    for row in rows:
        print(f"{row['id']:4} {row['is']:19} {row['class']:34} {row['confidence']:11} {row['said'][:110]}")
        if row["is"] == "wrong" and row["id"] in why:
            print(f"{'':24}why: {why[row['id']]}")
    for name, counts in by_class(rows).items():
        print(f"{name:36}" + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    total = summary(rows)
    print(total)
    if not asked.only:
        git = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
        )
        line = {
            "commit": git.stdout.strip(),
            "time": int(time.time()),
            **total,
            "classes": by_class(rows),
            "rows": rows,
        }
        with (ROOT / "benchmarks" / "results" / "incidents.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

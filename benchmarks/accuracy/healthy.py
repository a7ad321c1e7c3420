"""How often a healthy server is called ill: alarms an engine-hour. Emulated figures are no real ones.

Many emulated engines on every hardware profile, workload and load, with swings, waves, deploys, cache flushes, shifting
lengths and lost pages; seeds are drawn at run time and printed. Each engine's time is cut into windows as ``diagnose`` sees
them (60 s and 120 s, scrapes each 1 s, 5 s and 15 s) and fed to the core of ``watch`` page by page. A window counts as
healthy where the emulator's own record has no felt loss in it or in the 10 s before (healthy_engine.py); an alarm there is
the verdict ``bottleneck``. An incident of ``watch`` is false where users felt under 20 s of loss between 30 s before its
begin and its opening. Prints each alarm with what decided it, and appends a line to ``benchmarks/results/healthy.jsonl``.

    python benchmarks/accuracy/healthy.py --hours 10            # all arms
    python benchmarks/accuracy/healthy.py --hours 100 --arms watch --jobs 2
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]

from healthy_engine import BIN_S, START, HealthyEngine, Scenario, drawn  # noqa: E402

from whystall.errors import WhystallError  # noqa: E402
from whystall.model.diagnosis import Diagnosis  # noqa: E402
from whystall.model.recording import FailedScrape, Recording  # noqa: E402
from whystall.model.target import Target  # noqa: E402
from whystall.pipeline import diagnose  # noqa: E402
from whystall.service.look import look  # noqa: E402
from whystall.service.lookout import Lookout  # noqa: E402
from whystall.service.server import Watching  # noqa: E402
from whystall.service.window import Window  # noqa: E402
from whystall.sources.exposition import Page, PageParser  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "healthy.jsonl"
WINDOWS = {"60 s at 1 s": (60.0, 1), "120 s at 1 s": (120.0, 1), "60 s at 5 s": (60.0, 5), "120 s at 5 s": (120.0, 5),
           "120 s at 15 s": (120.0, 15), "300 s at 15 s": (300.0, 15)}  # fmt: skip
WATCH = {"watch at 5 s": 5, "watch at 15 s": 15}
BRIEF_S = 20.0
Row = dict[str, Any]


class Pages:
    """What a scraper had of one engine: its pages second by second."""

    def __init__(self, engine: HealthyEngine, every_s: int) -> None:
        self.engine = engine
        self.parser = PageParser()
        self.got: list[tuple[int, Page | None]] = []
        lost = np.random.default_rng(engine.scenario.seed).random(int(engine.seconds) + 1) < 0.1
        for t in range(0, int(engine.seconds) + 1, every_s):
            engine.advance(t)
            body = b"" if engine.scenario.shape == "lost" and lost[t] else engine.page()
            self.got.append((t, self.parser.parse(body) if body else None))

    def every(self, seconds: int, start: float = 0.0, stop: float = math.inf) -> Iterable[tuple[int, Page | None]]:
        return ((t, page) for t, page in self.got if t % seconds == 0 and start <= t <= stop)

    def recording(self, start: float, stop: float, every_s: int) -> Recording:
        window = Window()
        for t, page in self.every(every_s, start, stop):
            if page is not None:
                window.add(START + t, page, self.parser.keys)
        table = window.table()
        failed = tuple(FailedScrape(START + t, "Unreachable") for t, p in self.every(every_s, start, stop) if p is None)
        return Recording(target=Target("emulated"), metrics=msgspec.structs.replace(table, failed=failed))


def run(asked: tuple[Scenario, tuple[str, ...]]) -> Row:
    """Windows and incidents of one engine: counts by arm, and the alarms."""
    scenario, arms = asked
    engine = HealthyEngine(scenario)
    steps = [(WINDOWS.get(arm) or (0.0, WATCH[arm]))[1] for arm in arms]
    pages = Pages(engine, math.gcd(*steps))
    felt = engine.felt()
    found: Row = {"key": scenario.key, "hours": scenario.minutes / 60, "felt_s": BIN_S * float(felt.sum()), "arms": {}}
    for arm in arms:
        found["arms"][arm] = _windows(arm, pages, felt) if arm in WINDOWS else _watched(arm, pages, felt)
    return found


def _windows(arm: str, pages: Pages, felt: np.ndarray) -> Row:
    seconds, every_s = WINDOWS[arm]
    judged, unwell, verdicts, alarms = 0.0, 0.0, Counter[str](), []
    for start in np.arange(0.0, pages.engine.seconds - seconds + 1, seconds):
        if pages.engine.felt_seconds(felt, start - 10, start + seconds):
            unwell += seconds
            continue
        judged += seconds
        try:
            diagnosis = diagnose(pages.recording(start, start + seconds, every_s)).diagnosis
        except WhystallError as error:
            verdicts[type(error).__name__] += 1
            continue
        verdicts[diagnosis.verdict] += 1
        if diagnosis.verdict != "healthy":
            alarms.append(_said(diagnosis) | {"at": start})
    return {"hours": judged / 3600, "unwell": unwell / 3600, "verdicts": dict(verdicts), "alarms": alarms}


def _said(diagnosis: Diagnosis) -> Row:
    causes = [f"{cause.id} {cause.probability:.2f}" for cause in diagnosis.causes]
    decided = diagnosis.causes[0].evidence_for[:3] if diagnosis.causes else ()
    texts = {e.id: e.text.en for e in diagnosis.evidence}
    return {
        "verdict": diagnosis.verdict,
        "causes": causes,
        "headline": diagnosis.headline.en,
        "decided": [texts[name] for name in decided if name in texts],
        "window_s": diagnosis.impact.window_s,
    }


def _watched(arm: str, pages: Pages, felt: np.ndarray) -> Row:
    every_s = WATCH[arm]
    lookout = Lookout(Watching(interval_s=float(every_s)))
    lookout.watch("engine", "http://engine:8000")
    opened: dict[str, Row] = {}
    for t, page in pages.every(every_s):
        at = START + t
        if page is not None:
            job = lookout.take("engine", at, page, pages.parser.keys)
        else:
            job = lookout.fail("engine", at, "Unreachable", "nothing answers")
        for happening in lookout.looked(job, look(job)) if job else ():
            one = happening.incident
            if one.state == "open" and one.uid not in opened:
                since, stop = one.since - START, one.opened - START
                said = _said(one.diagnosis) if one.diagnosis else {"verdict": "unknown", "headline": one.headline.en}
                hurt = pages.engine.felt_seconds(felt, since - 30, stop)
                away = bool(pages.engine.away[int(max(since - 30, 0) / BIN_S) : int(stop / BIN_S) + 1].any())
                opened[one.uid] = said | {"kind": one.kind, "at": since, "opened": stop, "felt_s": hurt, "away": away}
    false = [one for one in opened.values() if one["felt_s"] < BRIEF_S]
    real = [one for one in opened.values() if one["felt_s"] >= BRIEF_S]
    well = 1 - felt.mean()
    return {"hours": pages.engine.seconds * well / 3600, "alarms": false, "real": real}


def upper(count: int, hours: float) -> float:
    """The rate an hour below which the truth lies with 95%, by Poisson: where e^-m (1 + ... + m^count/count!) is 0.05."""
    low, high = 0.0, 20.0 + 4.0 * count
    for _ in range(60):
        m = (low + high) / 2
        below = math.exp(-m) * sum(m**k / math.factorial(k) for k in range(count + 1))
        low, high = (m, high) if below > 0.05 else (low, m)
    return high / hours if hours else math.inf


def report(rows: list[Row], arms: tuple[str, ...]) -> Row:
    """The figures by arm, printed and returned."""
    found: Row = {}
    print(f"\n{'arm':16}{'hours':>8}{'alarms':>8}{'an hour':>9}{'below':>9}{'unknown':>9}  causes")
    for arm in arms:
        mine = [row["arms"][arm] for row in rows]
        said = [one for row in mine for one in row["alarms"]]
        alarms = [one for one in said if arm in WATCH or one["verdict"] == "bottleneck"]
        hours = sum(row["hours"] for row in mine)
        names = Counter((one.get("causes") or ["-"])[0].split()[0] for one in alarms)
        found[arm] = {
            "hours": round(hours, 2),
            "alarms": len(alarms),
            "an_hour": round(len(alarms) / hours, 4) if hours else None,
            "below_95": round(upper(len(alarms), hours), 4),
            "unknown": sum(one["verdict"] == "unknown" for one in said),
            "causes": dict(names.most_common()),
        }
        if arm in WATCH:
            found[arm]["real"] = sum(len(row["real"]) for row in mine)
        f = found[arm]
        print(
            f"{arm:16}{hours:8.1f}{f['alarms']:8}{f['an_hour'] or 0:9.3f}{f['below_95']:9.3f}{f['unknown']:9}  {f['causes']}"
        )
    return found


def shown(row: Row) -> None:
    """Each alarm of an engine, with what decided it."""
    for arm, of_it in row["arms"].items():
        for one in of_it["alarms"]:
            if one["verdict"] == "bottleneck" or arm in WATCH:
                where = f"{one['at']:.0f} s"
                print(
                    f"  {row['key']}, {arm}, {where}: {', '.join(one.get('causes', ()))}: {one['headline']}", flush=True
                )
                for text in one.get("decided", ()):
                    print(f"      {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=5.0, help="Engine-hours to emulate.")
    parser.add_argument("--minutes", type=float, default=30.0, help="Of each engine.")
    parser.add_argument("--seed", type=int, help="By default a new one.")
    parser.add_argument("--arms", default=",".join((*WINDOWS, *WATCH)), help="Which, by commas; 'watch', 'diagnose'.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--wall", type=float, default=3600.0, help="Real seconds at most.")
    parser.add_argument("--out", type=Path, help="Keep the rows there.")
    parser.add_argument("--dry", action="store_true", help="Print, and keep no line.")
    asked = parser.parse_args()
    named = {"watch": tuple(WATCH), "diagnose": tuple(WINDOWS)}
    arms = tuple(itertools.chain.from_iterable(named.get(arm, (arm,)) for arm in asked.arms.split(",")))
    seed = asked.seed if asked.seed is not None else time.time_ns() % 1_000_000
    count = math.ceil(60 * asked.hours / asked.minutes)
    print(f"seed {seed}, {count} engines of {asked.minutes:.0f} minutes", flush=True)
    rows: list[Row] = []
    begun = time.monotonic()
    wanted = ((scenario, arms) for scenario in itertools.islice(drawn(seed, asked.minutes), count))
    with multiprocessing.Pool(asked.jobs) as pool:
        for row in pool.imap(run, wanted):
            rows.append(row)
            shown(row)
            if time.monotonic() - begun > asked.wall:
                pool.terminate()
                break
    found = report(rows, arms)
    shapes: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        one = shapes[row["key"].split()[3]]
        one[0] += row["hours"]
        one[1] += row["felt_s"] / 3600
    print("hours emulated and felt by users:", {k: [round(a, 1), round(b, 2)] for k, (a, b) in sorted(shapes.items())})
    if asked.out:
        asked.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), "seed": seed, "command": " ".join(sys.argv[1:]),
            "engines": len(rows),
            "emulated_hours": sum(row["hours"] for row in rows), "arms": found}  # fmt: skip
    if not asked.dry:
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

"""An hour of emulated trouble over many engines: what the watcher missed, what it made up, its memory, and a kill -9.

The emulated servers run here on virtual time; the watcher's core runs in a process of its own that gets their pages through
a pipe, is killed with SIGKILL in the middle and started again on its store. A trouble is missed where no incident of its
engine began in it, and its delay is the time until somebody was told; an incident is false where its engine had none.
Prints a table and appends a line to ``benchmarks/results/soak.jsonl``. Emulated troubles are no real ones.

    python benchmarks/soak/soak.py [--engines 50] [--minutes 60]
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.sources.archive.store import Archive

ROOT = Path(__file__).resolve().parents[2]
START = 1_790_000_000.0
# Faults that end once what they changed is put back, and that a page alone shows. Then what is right, too.
TROUBLES = {
    "kv_capacity": set(),
    "seat_cap": set(),
    "token_budget": set(),
    "queue_limit": set(),
    "frontend_cpu": set(),
    "engine_loop_cpu": {"sampler_cpu"},
    "cpu_starved": {"frontend_cpu", "engine_loop_cpu"},
    "gpu_throttle": {"slow_kernel", "comm_bound"},
    "slow_kernel": {"gpu_throttle"},
    "longer_prompts": {"prefill_bound", "prefill_interference"},
    "prefix_cache_loss": {"prefill_bound", "longer_prompts"},
    "prefill_interference": {"head_of_line_prompt", "longer_prompts"},
    "unreachable": set(),
}
SETTLE_S = 120.0  # after a trouble's end its queue is still there


class Engine:
    """One emulated server with at most one trouble in the hour."""

    def __init__(self, number: int, fault: str, at: float, until: float) -> None:
        self.name = f"engine{number:02}"
        self.fault, self.at, self.until = fault, at, until
        emulated = fault if fault in FAULTS else "healthy"
        serving = healthy_serving(emulated)
        if fault == "":  # a load that goes up and down, as loads do
            traffic = msgspec.structs.replace(serving.traffic, rate=4.0, swing=0.45, period_s=400.0 + 20 * number)
            serving = msgspec.structs.replace(serving, traffic=traffic)
        planned = [Planned(FAULTS[fault], at)] if fault in FAULTS else []
        serving = msgspec.structs.replace(prepared(serving, planned), seed=number + 1)
        self.deployment = Deployment(serving, start=START)
        self._traffic, self._costs = serving.traffic, copy.copy(self.deployment.front.costs)
        self._profiles = [replica.engine.clock.profile for replica in self.deployment.replicas]
        for plan in planned:
            inject(self.deployment, plan)
            self.deployment.at(START + until, self._heal)

    def _heal(self, deployment: Deployment, _t: float) -> None:
        deployment.traffic.plan, deployment.front.costs = self._traffic, self._costs
        for replica, profile in zip(deployment.replicas, self._profiles, strict=True):
            replica.engine.clock.set(profile)

    @property
    def argv(self) -> list[str]:
        """Its command line, as ``server_args`` of whystall.toml would have it."""
        flags = self.deployment.serving.flags.items()
        return ["vllm", "serve", "m", *(word for k, v in flags for word in (f"--{k.replace('_', '-')}", str(v)))]

    def page(self, t: float) -> bytes:
        """Its page at ``t`` seconds, empty while it does not answer."""
        self.deployment.advance(START + t)
        away = self.fault == "unreachable" and self.at <= t < self.until
        return b"" if away else self.deployment.page().encode()


class Watched:
    """The watcher's process."""

    def __init__(self, store: Path, interval_s: float) -> None:
        command = [sys.executable, str(Path(__file__).with_name("watched.py")), str(store), str(interval_s)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, engine: Engine, t: float, page: bytes, ask: bool = False) -> None:
        assert self.process.stdin is not None
        frame = {"name": engine.name, "argv": engine.argv, "t": START + t, "size": len(page), "ask": ask}
        self.process.stdin.write(json.dumps(frame).encode() + b"\n" + page)
        self.process.stdin.flush()

    def answer(self) -> dict[str, object]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def planned(engines: int, seconds: float) -> list[Engine]:
    """Three of five engines have a trouble of three to eight minutes; which, when and how long is drawn with one seed."""
    chance = random.Random(7)
    faults = list(TROUBLES)
    found = []
    for number in range(engines):
        fault = faults[number % len(faults)] if number % 5 < 3 else ""
        at = chance.uniform(0.1, 0.7) * seconds
        found.append(Engine(number, fault, at, at + min(chance.uniform(180, 480), 0.25 * seconds)))
    return found


def judged(
    engines: list[Engine], opened: list[tuple[str, float, str, str]], closed: set[str], told: dict[str, float]
) -> dict[str, object]:
    """Counts, and one row for each trouble. ``opened``: engine, since, cause in the end, uid; ``told``: when, by uid."""
    rows, known = [], set()
    for engine in (one for one in engines if one.fault):
        of_it = [one for one in opened if one[0] == engine.name and engine.at - 30 <= one[1] <= engine.until + SETTLE_S]
        known |= {one[3] for one in of_it}
        causes = [one[2] for one in of_it]
        right = bool(causes) and (engine.fault == "unreachable" or causes[0] in {engine.fault} | TROUBLES[engine.fault])
        rows.append({"engine": engine.name, "fault": engine.fault, "incidents": len(of_it), "causes": causes, "right": right,
                     "closed": all(one[3] in closed for one in of_it), "at": round(engine.at),
                     "delay_s": round(min(told[one[3]] for one in of_it) - engine.at) if of_it else None})  # fmt: skip
    false = [one for one in opened if one[3] not in known]
    return {
        "troubles": len(rows),
        "missed": sum(not row["incidents"] for row in rows),
        "false": len(false),
        "split": sum(row["incidents"] > 1 for row in rows),
        "right": sum(bool(row["right"]) for row in rows),
        "closed": sum(bool(row["closed"] and row["incidents"]) for row in rows),
        "delay_median_s": float(np.median([row["delay_s"] for row in rows if row["delay_s"] is not None] or [np.nan])),
        "delay_most_s": max((row["delay_s"] for row in rows if row["delay_s"] is not None), default=None),
        "false_ones": [[one[0], round(one[1]), one[2]] for one in false],
        "rows": rows,
    }


def run(engines: list[Engine], seconds: float, interval_s: float, store: Path, wall_s: float) -> dict[str, object]:
    """Feed the hour; the kill comes in the middle, right after a page was sent. Stops where the machine took too long."""
    begun = time.monotonic()
    watched = Watched(store, interval_s)
    opened: dict[str, tuple[str, float, str]] = {}
    closed: set[str] = set()
    told: dict[str, float] = {}
    warnings: set[str] = set()
    memory: list[int] = []
    cpu_s, cpu, looks, sent, acknowledged, killed = 0.0, 0.0, 0, 0, 0, False
    steps = int(seconds / interval_s)
    for step in range(steps):
        t = step * interval_s
        if time.monotonic() - begun > wall_s:
            break
        ask = step % max(steps // 12, 1) == 0 or step == steps - 1
        for number, engine in enumerate(engines):
            page = engine.page(t)
            last = number == len(engines) - 1
            watched.send(engine, t, page, ask and last)
            sent += bool(page)
            if step == steps // 2 and last and not killed:
                watched.kill()
                killed = True
                cpu_s += cpu
                watched = Watched(store, interval_s)
                continue
            answer = watched.answer()
            acknowledged += bool(page)
            looks += bool(answer["looked"])
            if "rss" in answer:
                memory.append(int(answer["rss"]))
                cpu = float(answer["cpu_s"])
            for what, state, _kind, cause, since, uid in answer["happened"]:
                if state == "warning":
                    warnings.add(uid)
                elif what in ("opened", "updated"):
                    opened[uid] = (engine.name, since - START, cause)
                    told.setdefault(uid, t)
                elif uid in opened:
                    closed.add(uid)
        if ask:
            print(f"{t / 60:5.1f} min, {len(opened)} incidents, {memory[-1] / 1e6:.0f} MB", flush=True)
    assert watched.process.stdin is not None
    watched.process.stdin.close()
    watched.process.wait()
    # A trouble that began in the last two minutes had no time to be seen, or to end.
    every, engines = engines, [engine for engine in engines if not engine.fault or engine.at < t - 120]
    figures = {"minutes_run": round(t / 60, 1)} | judged(
        engines, [(e, since, cause, uid) for uid, (e, since, cause) in opened.items()], closed, told
    )
    only_warned = warnings - set(opened)
    return figures | {
        "warnings": len(warnings),
        "warnings_that_passed": len(only_warned),
        "looks": looks,
        "cpu_s": round(cpu_s + cpu, 1),
        "rss_mb": [round(x / 1e6, 1) for x in memory],
        "sent": sent,
        "acknowledged": acknowledged,
        "kept": kept(every, store, seconds),
        "store_mb": round(store.stat().st_size / 1e6, 1),
    }


def kept(engines: list[Engine], store: Path, seconds: float) -> int:
    """How many pages the store has in the end."""
    with Archive.read(store) as archive:
        return sum(len(archive.table(engine.name, START - 1, START + seconds).times) for engine in engines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--interval", type=float, default=5.0)
    parser.add_argument("--wall", type=float, default=36000.0, help="Real seconds at most.")
    parser.add_argument("--dry", action="store_true", help="Print, and keep no line.")
    asked = parser.parse_args()
    engines = planned(asked.engines, asked.minutes * 60)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.time()
        figures = run(engines, asked.minutes * 60, asked.interval, Path(folder) / "watch.sqlite", asked.wall)
    for row in figures["rows"]:
        mark = "ok  " if row["right"] else "    "
        print(f"{row['engine']} {row['fault']:22} {mark} {row['incidents']} {' '.join(row['causes'])}")
    print({key: value for key, value in figures.items() if key != "rows"})
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), "engines": asked.engines, "minutes": asked.minutes,
            "interval_s": asked.interval, "wall_s": round(time.time() - begun), **figures}  # fmt: skip
    if not asked.dry:
        with (ROOT / "benchmarks" / "results" / "soak.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()

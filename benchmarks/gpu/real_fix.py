"""The loop on a real vLLM on a GPU: a planted limit found, changed by a restart, proven, and taken back on demand.

::

    python benchmarks/gpu/real_fix.py --model DIR --out OUT [--after FILE] [--until SECONDS] [CASE …]

What ``whystall fix URL --apply --send-load`` does, with requests of even length so that three pairs of blocks may be
enough, then the verb ``whystall fix URL --undo``, on a server that whystall keeps (``$WHYSTALL_VLLM`` is its program). OUT
gets what was found and said, each server's logs and
``real_fix.jsonl`` with a line of figures a case, as ``tests/vllm/test_real_fix.py`` writes them of a CPU. The server starts
at once; with ``--after`` nothing is measured before that file is there, so that others may start beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whystall.emulator.engine.workload import LengthClass
from whystall.loop.diagnoser import AutoPerformanceDiagnoser
from whystall.loop.opening import LoopConfig
from whystall.model.text import Text
from whystall.reports.json import to_json
from whystall.trials.actuators.managed import vllm_server
from whystall.trials.actuators.process import KeptProcess
from whystall.trials.load.plan import LoadPlan

GIB = 1024**3
COMMON = "--served-model-name m --load-format dummy --max-model-len 4096 --gpu-memory-utilization 0.5 "
COMMON += f"--kv-cache-memory-bytes {40 * GIB}"
UNDO_S = 240


@dataclass(frozen=True)
class Planted:
    """What is wrong with the server's flags, and the load that waits on it."""

    flags: str
    load: LoadPlan


CASES = {
    "seat_cap": Planted("--max-num-seqs 8", LoadPlan(clients=24, mix=(LengthClass(1.0, (200, 400), (150, 170)),))),
    "kv_capacity": Planted(  # 8,000 tokens: room for thirteen of these requests
        "--num-gpu-blocks-override 500 --max-num-seqs 64",
        LoadPlan(clients=40, mix=(LengthClass(1.0, (400, 500), (150, 170)),)),
    ),
}


class Run:
    """One case on one server."""

    def __init__(self, cause: str, places: argparse.Namespace) -> None:
        self.cause = cause
        self.planted = CASES[cause]
        self.places = places
        self.folder: Path = places.out / cause
        self.folder.mkdir(parents=True, exist_ok=True)
        os.environ["XDG_STATE_HOME"] = str(self.folder / "state")
        self.server: KeptProcess = vllm_server(
            self.folder / "state" / "whystall" / "servers" / "vllm", str(places.model)
        )

    async def go(self) -> None:
        """Start, fix, undo, stop; a line of figures in any case."""
        begun = time.monotonic()
        ready = await self.server.start((*COMMON.split(), *self.places.more.split(), *self.planted.flags.split()))
        row: dict[str, Any] = {"cause": self.cause, "start_s": round(time.monotonic() - begun)}
        say(f"{self.cause}: server {'up' if ready.ok else ready.reason} after {row['start_s']} s")
        try:
            if ready.ok:
                await until_there(self.places.after)
                row |= await self.fixed()
        finally:
            await self.server.stop()
            self.keep(row)

    async def fixed(self) -> dict[str, Any]:
        """What ``fix`` did, and whether ``--undo`` took it back."""
        before = (await self.server.snapshot()).arguments
        begun = time.monotonic()
        left = self.places.until - begun - UNDO_S
        config = LoopConfig(
            seconds=30,
            apply=True,
            send_load=True,
            canary=True,
            load=self.planted.load,
            state=self.folder / "state" / "whystall",
            budget_s=left,
        )
        found = await AutoPerformanceDiagnoser(self.server.server.url, config, say=self.said).fix()
        (self.folder / "fix.json").write_text(to_json(found, "en"))
        fix = json.loads(to_json(found, "en"))
        row = figures(fix) | {"seconds": round(time.monotonic() - begun)}
        say(f"{self.cause}: {fix.get('state')} after {row['seconds']} s")
        if fix.get("state") == "kept":
            begun = time.monotonic()
            undone = await self.undone(fix["case"])
            same = (await self.server.snapshot()).arguments == before
            row |= {"undone": undone.get("state"), "as_before": same, "undo_s": round(time.monotonic() - begun)}
            say(f"{self.cause}: undone {undone.get('state')}, arguments as before: {same}")
        return row

    async def undone(self, case: int) -> dict[str, Any]:
        """What ``whystall fix URL --undo CASE --apply`` says."""
        command = [sys.executable, "-m", "whystall", "fix", self.server.server.url, "--undo", str(case)]
        with (self.folder / "undo.err").open("wb") as err:
            run = await asyncio.create_subprocess_exec(
                *command, "--apply", "--json", stdout=asyncio.subprocess.PIPE, stderr=err
            )
            text, _ = await asyncio.wait_for(run.communicate(), UNDO_S)
        (self.folder / "undo.json").write_bytes(text)
        found: dict[str, Any] = json.loads(text or b"{}")
        return found

    def said(self, text: Text) -> None:
        say(f"  {text.en}")

    def keep(self, row: dict[str, Any]) -> None:
        for log in self.server.folder.path.glob("*.log*"):
            shutil.copy(log, self.folder)
        with (self.places.out / "real_fix.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"time": int(time.time()), "on": self.places.on} | row) + "\n")


def figures(fix: dict[str, Any]) -> dict[str, Any]:
    """The line of figures of a ``whystall.fix/1``."""
    trial, remedy = fix.get("trial") or {}, fix.get("remedy") or {}
    effects = {e["metric"]: [e[key] for key in ("low", "mid", "high", "a", "b")] for e in trial.get("effects", ())}
    prediction = remedy.get("prediction") or {}
    return {
        "state": fix.get("state"),
        "because": fix.get("because"),
        "found": [cause["id"] for cause in (fix.get("diagnosis") or {}).get("causes", ())],
        "change": remedy.get("change", {}),
        "advice": prediction.get("advice", ""),
        "predicted": remedy.get("effect", {}),
        "verdict": trial.get("verdict", ""),
        "pairs": trial.get("pairs", 0),
        "effects": effects,
        "after": [cause["id"] for cause in (fix.get("after") or {}).get("causes", ())],
    }


async def until_there(path: Path | None) -> None:
    while path is not None and not path.exists():
        await asyncio.sleep(1)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


def main() -> None:
    """The cases one after another, as long as the time lasts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--after", type=Path)
    parser.add_argument("--until", type=float, default=3600, help="seconds that all may take")
    parser.add_argument("--more", default="", help="more arguments of the server")
    parser.add_argument("--on", default="", help="the machine, in words, for the line of figures")
    places = parser.parse_args()
    places.until += time.monotonic()
    for cause in places.cases:
        if places.until - time.monotonic() < 2 * UNDO_S:
            say(f"{cause}: left out")
            continue
        asyncio.run(Run(cause, places).go())


if __name__ == "__main__":
    main()

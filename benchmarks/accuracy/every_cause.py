"""Every cause of the catalogue through ``fix --apply`` on an emulated server: fixed by a knob, or left as it is, and why.

A cause that a knob can treat (whystall.trials.lab.treatable) must end with the right knob kept, a WIN and the cause gone.
Of all others the emulator's fault is brought about, the loop may do what it likes, and the server must stand as it stood,
with a reason; where a knob is named for the cause, it is told why no flag ends it there (UNTREATED). Causes that the
emulator cannot bring about are told as such. Emulated accuracy is no real accuracy.

    python benchmarks/accuracy/every_cause.py [ID …] [--rows FILE]

Prints a line a cause and appends one to ``benchmarks/results/every_cause.jsonl``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from whystall.causes.weights import weighted_catalogue
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, WITHOUT, Planned, prepared
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.errors import WhystallError
from whystall.loop.flow import Loop, Mandate
from whystall.loop.parts import Parts, analyze, detector, optimizer
from whystall.loop.records import Records
from whystall.loop.switch import go_on
from whystall.loop.verify import TrialLimits, WatchingVerifier
from whystall.model.fix import Fix
from whystall.model.slo import Slo
from whystall.trials.emulated_target import EmulatedTarget
from whystall.trials.lab.treatable import FURTHER, TREATABLE, UNTREATED, Treatable

ROOT = Path(__file__).resolve().parents[2]
SETTLE_S, LOOK_S, AT_S = 660.0, 90.0, 30.0
FROM_THE_START = ("low_demand", "client_limited", "weight_loading", "warm_up")
BUDGET_S = 900.0
SCENES = {scene.name or scene.cause: scene for scene in (*TREATABLE, *FURTHER)}


def _nothing(_deployment: Deployment) -> None:
    """What the fault changed is there still."""


def faulty(cause: str) -> EmulatedTarget:
    """A server that is healthy until the fault sets in, or has it from the start; a restart does not end it."""
    fault, healthy = FAULTS[cause], healthy_serving(cause)
    severity = 0.5 if cause == "weight_loading" else 1.0

    def again(deployment: Deployment) -> None:
        fault.apply(deployment, deployment.now, severity)

    serving = prepared(healthy, [Planned(fault, 0.0, severity)])
    target = EmulatedTarget(serving, healthy, name=cause, after_restart=_nothing if fault.outlives_restart else again)
    if cause in FROM_THE_START:
        again(target.deployment)
    else:
        target.let_run(SETTLE_S)
        target.deployment.at(target.now + AT_S, lambda d, _now: again(d))
    return target


async def fixed(target: EmulatedTarget, state: Path, slo: Slo | None, *, canary: bool, look_s: float) -> Fix:
    parts = Parts(
        metrics_collector=lambda: target.look(look_s),
        verifier=WatchingVerifier(target.target, target.look, TrialLimits(budget_s=BUDGET_S, slo=slo), lambda _l: None),
        anomaly_detector=detector(slo),
        root_cause_analyzer=analyze,
        optimizer=optimizer(slo),
    )
    mandate = Mandate(state=state, apply=True, canary=canary)
    return await Loop(target.target, target, parts, mandate, Records(state / "cases.sqlite"), go_on).run()


def one(cause: str) -> dict[str, Any]:
    """How the loop on ``cause`` ended, and whether that is right."""
    scene = SCENES.get(cause)
    if scene is None and cause not in FAULTS:
        return {"kind": "not emulated", "why": WITHOUT.get(cause, ""), "right": None}
    target = scene.target() if scene is not None else faulty(cause)
    before = target.arguments
    with tempfile.TemporaryDirectory() as folder:
        try:
            if scene is not None:
                target.let_run(SETTLE_S)
                scene.look_begins(target)
                look = fixed(target, Path(folder), scene.slo, canary=not scene.predicted, look_s=scene.look_s)
            else:
                look = fixed(target, Path(folder), None, canary=False, look_s=LOOK_S)
            fix = asyncio.run(look)
        except WhystallError as error:
            same = target.arguments == before
            return {"kind": "fault", "state": "error", "why": error.message, "same": same, "right": same}
    row = told(fix) | {"same": target.arguments == before}
    if scene is not None:
        return row | {"kind": "treatable", "right": is_cured(fix, scene)}
    right = bool((row["same"] or fix.state == "kept") and fix.because.en)
    return row | {"kind": "fault", "right": right, "no_flag": UNTREATED.get(cause, "")}


def told(fix: Fix) -> dict[str, Any]:
    effect = fix.trial.effect(fix.trial.primary) if fix.trial is not None else None
    return {
        "state": fix.state,
        "causes": [cause.id for cause in fix.root_causes[:3]],
        "change": dict(fix.remedy.change) if fix.remedy is not None else {},
        "verdict": fix.trial.verdict if fix.trial is not None else "",
        "interval": [fix.trial.primary, effect.low, effect.high] if fix.trial is not None and effect else [],
        "blocks": len(fix.trial.blocks) if fix.trial is not None else 0,
        "why": fix.because.en,
    }


def is_cured(fix: Fix, scene: Treatable) -> bool:
    gone = fix.after is None or scene.cause not in [cause.id for cause in fix.after.causes]
    knob = fix.remedy is not None and set(fix.remedy.change) <= set(scene.knobs)
    return fix.state == "kept" and knob and gone and fix.trial is not None and fix.trial.won and fix.case > 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "ids", nargs="*", default=[*weighted_catalogue(), *(scene.name for scene in FURTHER if scene.name)]
    )
    parser.add_argument(
        "--rows", type=Path, help="Append every cause there as it ends, and leave out those that it has."
    )
    asked = parser.parse_args()
    had = asked.rows.read_text(encoding="utf-8").splitlines() if asked.rows and asked.rows.exists() else []
    rows: dict[str, dict[str, Any]] = dict(json.loads(line) for line in had)
    for cause in asked.ids:
        if cause in rows:
            continue
        rows[cause] = row = one(cause)
        if asked.rows:
            with asked.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps([cause, row]) + "\n")
        said = f"{row.get('state', ''):12} {row.get('verdict', ''):12} {row.get('change', '')} {row['why'][:90]}"
        print(f"{cause:26}{row['kind']:13}{row['right']!s:6}{said}", flush=True)
        if row.get("no_flag") and row["same"]:
            print(f"{'':26}no flag ends it: {row['no_flag']}", flush=True)
    keep(rows)
    return 0


def keep(rows: dict[str, dict[str, Any]]) -> None:
    """Sum up and append."""
    kinds = {
        kind: [row for row in rows.values() if row["kind"] == kind] for kind in ("treatable", "fault", "not emulated")
    }
    summary = {
        kind: {"of": len(found), "right": sum(bool(row["right"]) for row in found)} for kind, found in kinds.items()
    }
    changed = [cause for cause, row in rows.items() if row["kind"] == "fault" and not row["same"]]
    print(summary, "changed though no scene of a knob:", changed)
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), **summary, "changed": changed, "rows": rows}
    with (ROOT / "benchmarks" / "results" / "every_cause.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())

"""For each cause that a knob can treat: fix --apply ends with the cause gone, the right knob, a WIN and a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from whystall.cases.book import Book
from whystall.loop.flow import Loop, Mandate
from whystall.loop.parts import Parts, analyze, detector, optimizer
from whystall.loop.records import Records
from whystall.loop.switch import go_on
from whystall.loop.verify import TrialLimits, WatchingVerifier
from whystall.model.fix import Fix
from whystall.trials.emulated_target import EmulatedTarget
from whystall.trials.lab.treatable import FURTHER, TREATABLE, Treatable

SETTLE_S = 660.0  # a server that is younger may still be warming up


async def fixed(scene: Treatable, target: EmulatedTarget, state: Path) -> Fix:
    target.let_run(SETTLE_S)
    scene.look_begins(target)
    limits = TrialLimits(budget_s=3600.0, slo=scene.slo)
    parts = Parts(
        metrics_collector=lambda: target.look(scene.look_s),
        verifier=WatchingVerifier(target.target, target.look, limits, lambda _line: None),
        anomaly_detector=detector(scene.slo),
        root_cause_analyzer=analyze,
        optimizer=optimizer(scene.slo),
    )
    mandate = Mandate(state=state, apply=True, canary=not scene.predicted)
    return await Loop(target.target, target, parts, mandate, Records(state / "cases.sqlite"), go_on).run()


@pytest.mark.parametrize("scene", [*TREATABLE, *FURTHER], ids=lambda scene: scene.name or scene.cause)
async def test_ends_with_the_cause_gone(scene: Treatable, tmp_path: Path) -> None:
    target = scene.target()
    before = target.arguments
    fix = await fixed(scene, target, tmp_path)
    assert fix.diagnosis is not None
    assert fix.diagnosis.causes[0].id == scene.cause
    assert fix.state == "kept", fix.because
    assert fix.remedy is not None
    assert set(fix.remedy.change) <= set(scene.knobs)
    flags = {word.removeprefix("--no-").removeprefix("--") for word in target.arguments if word.startswith("--")}
    changed = {flag.removeprefix("--no-").removeprefix("--") for flag, value in fix.remedy.change.items() if not value}
    assert not flags & changed
    assert scene.deployed_s or target.arguments != before
    assert fix.trial is not None
    assert fix.trial.verdict == "WIN"
    primary = fix.trial.effect(fix.trial.primary)
    assert primary is not None
    assert primary.low is not None
    assert primary.high is not None
    assert primary.low * primary.high > 0  # the interval excludes no change
    assert fix.after is None or scene.cause not in [cause.id for cause in fix.after.causes]
    with Book.open(tmp_path / "cases.sqlite") as book:
        case = book.case(fix.case)
    assert (case.outcome, case.verdict) == ("kept", "bottleneck")
    assert case.trial is not None


@pytest.mark.parametrize("scene", TREATABLE, ids=lambda scene: scene.cause)
async def test_without_the_flags_there_is_nothing_to_fix(scene: Treatable, tmp_path: Path) -> None:
    roomy = scene.roomy()
    fix = await fixed(scene, EmulatedTarget(roomy, roomy), tmp_path)
    assert fix.state == "healthy", fix.because

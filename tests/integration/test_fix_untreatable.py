"""For each cause that no knob of the server treats, ``fix --apply`` changes nothing and says why.

The causes are planted in the diagnosis of one healthy server, so that each of the catalogue is met, whatever the emulator
can bring about (benchmarks/accuracy/every_cause.py brings about what it can).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from loop_scenes import roomy_server, tight
from whystall import pipeline
from whystall.cases.book import Book
from whystall.causes.weights import weighted_catalogue
from whystall.loop.flow import Loop, Mandate
from whystall.loop.parts import Parts, analyze, optimizer
from whystall.loop.records import Records
from whystall.loop.switch import go_on
from whystall.loop.verify import TrialLimits, WatchingVerifier
from whystall.model.diagnosis import Cause, Diagnosis, Remedy
from whystall.model.recording import Recording
from whystall.pipeline import states_of
from whystall.remedies.choose import remedies
from whystall.reports.finding import Finding
from whystall.trials.emulated_target import EmulatedTarget
from whystall.trials.lab.treatable import TREATABLE

SEATS = 64  # more than it needs: what a diagnosis says otherwise is wrong
UNTREATABLE = sorted(set(weighted_catalogue()) - {scene.cause for scene in TREATABLE})


def healthy_target() -> EmulatedTarget:
    roomy = roomy_server()
    target = EmulatedTarget(tight(roomy, max_num_seqs=SEATS), roomy)
    target.let_run(120.0)
    return target


@pytest.fixture(scope="module")
def seen() -> Recording:
    return asyncio.run(healthy_target().look(40.0))


def diagnosis_of(cause: str, recording: Recording) -> Diagnosis:
    """What a diagnosis that names ``cause`` would bring, with its remedies for this server."""
    entry = weighted_catalogue()[cause]
    plain = pipeline.diagnose(recording).diagnosis
    named = Cause(id=cause, probability=0.95, role=entry.role, summary=entry.title, onset=None)
    first = Remedy(id=f"first_step.{cause}", text=entry.first_step, restart=entry.restart, cause=cause)
    found = msgspec.structs.replace(plain, verdict="bottleneck", causes=(named,), remedies=(first,))
    return msgspec.structs.replace(found, remedies=remedies(found, states_of(recording)[0]))


@pytest.mark.parametrize("cause", UNTREATABLE)
async def test_nothing_is_changed_and_it_says_why(cause: str, seen: Recording, tmp_path: Path) -> None:
    target = healthy_target()
    planted = diagnosis_of(cause, seen)

    async def look() -> Recording:
        return seen

    parts = Parts(
        metrics_collector=look,
        verifier=WatchingVerifier(target.target, target.look, TrialLimits(budget_s=900.0), lambda _line: None),
        anomaly_detector=lambda _recording: Finding(planted),
        root_cause_analyzer=analyze,
        optimizer=optimizer(),
    )
    records = Records(tmp_path / "cases.sqlite")
    fix = await Loop(target.target, target, parts, Mandate(state=tmp_path, apply=True), records, go_on).run()
    assert fix.state == "no_remedy"
    assert target.arguments == ("--max-num-seqs", str(SEATS))
    assert fix.because.en
    assert fix.because.zh
    knobs = [remedy for remedy in fix.diagnosis.remedies if remedy.change]
    assert cause in fix.because.en or knobs  # none at all, or none that would help here
    with Book.open(tmp_path / "cases.sqlite") as book:
        assert book.case(fix.case).outcome == "not_changed"

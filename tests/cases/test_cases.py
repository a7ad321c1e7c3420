"""Every cause has windows that must name it first and look-alikes that must not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cases.window import recording_of
from whystall.causes.catalogue import catalogue
from whystall.pipeline import diagnose
from whystall.profiles.figures import TraceFigures

FOLDER = Path(__file__).parent
FILES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))}


def cases(kind):
    return [pytest.param(cause, case, id=f"{cause}: {case['name']}") for cause, f in FILES.items() for case in f[kind]]


def named(case):
    figures = TraceFigures(**case["trace"]) if "trace" in case else None
    diagnosis = diagnose(recording_of(case), trace=figures).diagnosis
    causes = [(c.id, c.probability) for c in diagnosis.causes]
    return diagnosis, [c for c, _ in causes], f"{diagnosis.verdict} {causes}: {diagnosis.headline.en}"


@pytest.mark.parametrize(("cause", "case"), cases("must"))
def test_must_name_it_first(cause, case):
    diagnosis, causes, said = named(case)
    idle = catalogue()[cause].explains_idle
    assert diagnosis.verdict == ("healthy" if idle else "bottleneck"), said
    if catalogue()[cause].acts_through:
        assert cause in causes, said  # a trigger stands beside the limit through which it hurts
    else:
        assert causes[0] == cause, said
    assert all(why.holds for why in diagnosis.causes[0].whys)
    assert diagnosis.causes[0].whys, "a cause without a why"


@pytest.mark.parametrize(("cause", "case"), cases("must_not"))
def test_must_not_name_it(cause, case):
    diagnosis, causes, said = named(case)
    assert diagnosis.verdict == "unknown" or cause not in causes[:1], said
    if "is" in case:
        wanted = case["is"] if isinstance(case["is"], list) else [case["is"]]
        assert diagnosis.verdict in wanted or (causes and causes[0] in wanted), said


def test_every_cause_has_cases():
    assert set(FILES) == set(catalogue())
    for cause, file in FILES.items():
        assert len(file["must"]) >= 1, cause
        assert len(file["must_not"]) >= 2, cause

"""Every real recording gets its right answer: with all signals, with the page alone, and at production's scrape intervals."""

from __future__ import annotations

import pytest

from conftest import recording_names
from recordings.judging import onset_right, right, said, truth
from recordings.questions import STALL
from recordings.transform import metrics_only, thinned
from whystall.pipeline import diagnose

NAMES = recording_names() or [pytest.param("", marks=pytest.mark.skip(reason="needs the shared recordings"))]


def wanted(shared, name, *, page_only=False):
    want = dict(truth(shared)[name])
    if page_only:
        want |= want.get("metrics_only", {})
    return want


@pytest.mark.parametrize("name", NAMES)
def test_with_all_signals(name, recording, shared):
    diagnosis = diagnose(recording(name)).diagnosis
    want = wanted(shared, name)
    assert right(diagnosis, want), said(diagnosis)
    assert onset_right(diagnosis, want), said(diagnosis)


@pytest.mark.parametrize("name", NAMES)
def test_with_the_page_alone(name, recording, shared):
    diagnosis = diagnose(metrics_only(recording(name))).diagnosis
    want = wanted(shared, name, page_only=True)
    assert right(diagnosis, want), said(diagnosis)
    assert onset_right(diagnosis, want), said(diagnosis)


@pytest.mark.parametrize("page_only", [False, True])
@pytest.mark.parametrize("every", [5, 15])
@pytest.mark.parametrize("name", NAMES)
def test_thinned_to_production_intervals(name, every, page_only, recording, shared):
    seen = metrics_only(recording(name)) if page_only else recording(name)
    for offset in range(0, every, 2):
        diagnosis = diagnose(thinned(seen, every, offset)).diagnosis
        may_abstain = every == 15 or name in STALL  # which does not last three scrapes that are 5 s apart
        want = wanted(shared, name, page_only=page_only)
        assert right(diagnosis, want, also=True, unknown=may_abstain), (offset, said(diagnosis))

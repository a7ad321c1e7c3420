"""Changes that must not change the answer, or may at most make it "unknown"."""

from __future__ import annotations

import msgspec
import pytest

from conftest import recording_names
from recordings.judging import onset_right, right, said, truth
from recordings.questions import DROPPED, FROZEN_AT, SAME, incidents
from recordings.transform import cut, frozen, metrics_only, spliced
from whystall.pipeline import diagnose

NAMES = recording_names() or [pytest.param("", marks=pytest.mark.skip(reason="needs the shared recordings"))]


@pytest.mark.parametrize("change", SAME)
@pytest.mark.parametrize("name", NAMES)
def test_same_answer(name, change, recording, shared):
    diagnosis = diagnose(SAME[change](recording(name))).diagnosis
    want = truth(shared)[name]
    assert right(diagnosis, want), said(diagnosis)
    assert onset_right(diagnosis, want), said(diagnosis)


@pytest.mark.parametrize("signal", DROPPED)
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_dropped(name, signal, recording, shared):
    """Right as before, unknown, or what is right without any signal beside the page."""
    diagnosis = diagnose(msgspec.structs.replace(recording(name), **{signal: DROPPED[signal]})).diagnosis
    want = truth(shared)[name]
    page_only = want | want.get("metrics_only", {})
    ok = right(diagnosis, want, unknown=True) or right(diagnosis, page_only, unknown=True)
    assert ok, said(diagnosis)


@pytest.mark.parametrize(("healthy", "name"), incidents())
def test_another_healthy_start(healthy, name, recording, shared):
    want = dict(truth(shared)[name])
    want |= want.get("metrics_only", {})
    joined = spliced(recording(healthy), recording(name), start=want["onset_s"] or 0.0)
    diagnosis = diagnose(joined).diagnosis
    assert right(diagnosis, want, also=True, unknown=True), said(diagnosis)


@pytest.mark.parametrize(("name", "at"), FROZEN_AT.items())
def test_a_frozen_engine_is_found(name, at, recording):
    stopped = frozen(recording(name), at, 45)
    diagnosis = diagnose(stopped).diagnosis
    assert [c.id for c in diagnosis.causes][:1] == ["engine_hang"], said(diagnosis)
    assert abs(diagnosis.causes[0].onset.seconds - at) <= 5, said(diagnosis)


def test_a_passing_stall_is_no_hang(recording):
    """A standstill of twenty seconds that has not ended yet could still be one that passes."""
    diagnosis = diagnose(frozen(recording("healthy"), 30, 20)).diagnosis
    assert "engine_hang" not in [c.id for c in diagnosis.causes], said(diagnosis)


def test_idle_is_no_hang(recording):
    """Flat counters with nothing in flight."""
    idle = frozen(recording("cpu_healthy"), 97, 45)
    diagnosis = diagnose(idle).diagnosis
    assert diagnosis.verdict == "healthy", said(diagnosis)


def test_an_old_burst_of_preemptions_changes_nothing(recording):
    """Lifetime totals say nothing of now."""
    healthy = metrics_only(recording("healthy"))
    values = healthy.metrics.values.copy()
    rows = [r for r, k in enumerate(healthy.metrics.keys) if k.name == "vllm:num_preemptions_total"]
    values[rows] += 5000
    changed = msgspec.structs.replace(healthy, metrics=msgspec.structs.replace(healthy.metrics, values=values))
    before, after = diagnose(healthy).diagnosis, diagnose(changed).diagnosis
    assert (after.verdict, after.causes, after.evidence) == (before.verdict, before.causes, before.evidence)


def test_one_scrape_is_too_little(recording):
    diagnosis = diagnose(cut(recording("kv_overflow"), 29.5, 1)).diagnosis
    assert diagnosis.verdict == "unknown"
    assert "too little data" in diagnosis.headline.en

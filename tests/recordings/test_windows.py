"""Windows cut out of the recordings: before an onset healthy, after it the cause, without the past to compare with."""

from __future__ import annotations

import pytest

from conftest import recording_names
from recordings.judging import right, said, truth
from recordings.questions import windows
from recordings.transform import cut, metrics_only
from whystall.pipeline import diagnose

NAMES = recording_names() or [pytest.param("", marks=pytest.mark.skip(reason="needs the shared recordings"))]
# Between 82 and 94 s two big prompts are at work in twelve seconds: too few to tell a shortage from their own length.
TOO_FEW = {("cpu_chunked_256", 82)}


@pytest.mark.parametrize("page_only", [False, True])
@pytest.mark.parametrize("seconds", [12, 25])
@pytest.mark.parametrize("name", NAMES)
def test_every_window(name, seconds, page_only, recording, shared):
    whole = recording(name)
    want = dict(truth(shared)[name])
    if page_only:
        want |= want.get("metrics_only", {})
    if seconds == 25 and whole.metrics.times[-1] - whole.metrics.times[0] < 60:
        return  # too short for windows of 25 s
    for start, answer in windows(whole, name, want, seconds):
        part = cut(whole, start, seconds)
        diagnosis = diagnose(metrics_only(part) if page_only else part).diagnosis
        if (name, int(start)) in TOO_FEW:
            assert diagnosis.verdict == "unknown", said(diagnosis)
            continue
        assert right(diagnosis, answer, also=True), (start, said(diagnosis))


@pytest.mark.parametrize("seconds", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_a_glance_never_reads_healthy(name, seconds, recording):
    whole = recording(name)
    length = float(whole.metrics.times[-1] - whole.metrics.times[0])
    for start in (0.0, length / 3, 2 * length / 3):
        assert diagnose(cut(whole, start, seconds)).diagnosis.verdict != "healthy"

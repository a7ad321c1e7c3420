"""Windows cut out of the recordings: before an onset healthy, after it the cause, without the past to compare with."""

from __future__ import annotations

import pytest

from conftest import recording_names
from recordings.judging import right, said, truth
from recordings.transform import cut, metrics_only
from whystall.pipeline import diagnose

NAMES = recording_names() or [pytest.param("", marks=pytest.mark.skip(reason="needs the shared recordings"))]
HEALTHY = {"verdict": "healthy", "causes": [], "onset_s": None}
# The stall itself, in the seconds after the profiler began; windows without it are healthy or launch-bound.
STALL = {"profiled": (12, 19), "profiled_eager": (12, 21)}
# Between 82 and 94 s two big prompts are at work in twelve seconds: too few to tell a shortage from their own length.
TOO_FEW = {("cpu_chunked_256", 82)}


def loaded(recording, want):
    """The part of a run in which requests were sent."""
    marks = dict(want.get("marks") or [])
    end = recording.metrics.times[-1] - recording.metrics.times[0]
    if not marks:
        sent = [phase.get("dur_s") for phase in want["phases"] if phase.get("dur_s")]
        return (3.0, sent[0]) if sent else (0.0, end)
    return next(iter(marks.values())) + 1, marks["drained"]


def windows(recording, name, want, seconds):
    """(start, wanted answer) of half-overlapping windows."""
    begin, end = loaded(recording, want)
    onset, blur = want["onset_s"], want.get("onset_tolerance_s", 1)
    start = begin
    while start + seconds <= end:
        stop = start + seconds
        stall = STALL.get(name)
        if stall is not None:
            if start < stall[0] and stop > stall[1]:
                yield start, want
        elif onset is None or start >= onset + blur:
            yield start, want
        elif stop <= onset:
            yield start, HEALTHY
        start += seconds / 2


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
        if (name, int(start)) in TOO_FEW:
            continue
        part = cut(whole, start, seconds)
        diagnosis = diagnose(metrics_only(part) if page_only else part).diagnosis
        assert right(diagnosis, answer, also=True), (start, said(diagnosis))


@pytest.mark.parametrize("seconds", [2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_a_glance_never_reads_healthy(name, seconds, recording):
    whole = recording(name)
    length = float(whole.metrics.times[-1] - whole.metrics.times[0])
    for start in (0.0, length / 3, 2 * length / 3):
        assert diagnose(cut(whole, start, seconds)).diagnosis.verdict != "healthy"

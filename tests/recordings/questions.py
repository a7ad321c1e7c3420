"""What is asked of every recording: windows of it, changes that change nothing, signals that are not there."""

from __future__ import annotations

from conftest import recording_names
from recordings.transform import renamed, shifted, with_constants, without_scrapes

HEALTHY = {"verdict": "healthy", "causes": [], "onset_s": None}
# The stall itself, in the seconds after the profiler began; windows without it are healthy or launch-bound.
STALL = {"profiled": (12, 19), "profiled_eager": (12, 21)}
SAME = {
    "renamed": renamed,
    "constants": lambda r: with_constants(r, seed=3),
    "shifted": lambda r: shifted(r, 40 * 86400 + 3.5),
    "lost": lambda r: without_scrapes(r, 0.2, seed=5),
}
DROPPED = {"log": (), "gpu": None, "host": None, "client": None, "server_info": "", "spans": (), "argv": ()}
# Seconds after its start at which an engine stops, with requests at work.
FROZEN_AT = {"healthy": 30, "kv_overflow": 40, "seq_cap": 30, "cpu_healthy": 64.5, "idle_clients": 20}


def incidents():
    """(healthy start, incident) of the same machine."""
    gpu = [n for n in recording_names() if not n.startswith("cpu_") or n == "cpu_starved"]
    calm = {"healthy", "idle_clients"}
    return [(h, n) for h in sorted(calm) for n in gpu if n not in calm]


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

"""One look at one server, as a worker process makes it: a recording in, diagnoses out."""

from __future__ import annotations

import time

import msgspec

from whystall import pipeline
from whystall.errors import WhystallError
from whystall.model.diagnosis import Diagnosis
from whystall.model.recording import Recording
from whystall.model.replica import Replica
from whystall.model.slo import Slo
from whystall.model.timeline import Timeline


class Job(msgspec.Struct, frozen=True):
    """What to look at: the whole window, and its last minute where somebody must know whether it still hurts.

    ``late_s`` is how many seconds of the window the watch itself was late, ``replicas`` are the servers behind the same
    target, at the same time.
    """

    server: str
    at: float
    recording: Recording
    tail: Recording | None = None
    slo: Slo | None = None
    reason: str = ""
    late_s: float = 0.0
    replicas: tuple[Replica, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """One engine in the window: what was found, and the picture of it."""

    diagnosis: Diagnosis
    timeline: Timeline | None = None


class Looked(msgspec.Struct, frozen=True):
    """What a job gave: by engine label. ``error`` names what made it impossible, "" where nothing did."""

    full: dict[str, Seen] = {}
    tail: dict[str, Diagnosis] = {}
    error: str = ""
    cost_s: float = 0.0


def look(job: Job) -> Looked:
    """Do the job. Raises nothing of ours: what cannot be diagnosed is named."""
    begun = time.process_time()
    try:
        full = _diagnosed(job.recording, job.slo, job.replicas)
    except WhystallError as error:
        return Looked(error=error.message, cost_s=time.process_time() - begun)
    tail: dict[str, Seen] = {}
    if job.tail is not None:
        try:
            tail = _diagnosed(job.tail, job.slo)
        except WhystallError:  # too short a time for an answer is none
            tail = {}
    return Looked(full, {name: seen.diagnosis for name, seen in tail.items()}, "", time.process_time() - begun)


def _diagnosed(recording: Recording, slo: Slo | None, replicas: tuple[Replica, ...] = ()) -> dict[str, Seen]:
    finding = pipeline.diagnose(recording, slo, replicas=replicas)
    engines = finding.engines or (finding,)
    return {one.diagnosis.engine.id: Seen(one.diagnosis, one.timeline) for one in engines}

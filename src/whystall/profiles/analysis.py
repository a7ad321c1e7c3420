"""A trace file to its summary: read, link, measure. The one function that the command and a Ray task both call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from .bytestream import ReadLimits
from .critical_path import critical_path
from .idle import find_gaps, idle_time
from .kernels import Classifier, KernelClass
from .launches import launch_figures
from .linked import LinkedTrace, link
from .notes import notes
from .phases import phase_times, step_times
from .roofline import read_roofline
from .shares import class_times, communication, copy_times, device_union, family_times, kernel_times
from .summary import TraceSummary
from .trace import Trace


def summarise(trace: Trace, extra: Sequence[KernelClass] = ()) -> TraceSummary:
    """All figures of one trace that need no second look at its file."""
    return summarise_linked(link(trace, Classifier(extra)))


def summarise_linked(linked: LinkedTrace) -> TraceSummary:
    trace = linked.trace
    work = trace.work
    start, window = _window(linked)
    steps = step_times(linked)
    summary = TraceSummary(
        file=trace.file,
        format=trace.format,
        rank=trace.rank,
        world_size=trace.world_size,
        devices=trace.devices,
        device_ids=linked.device_ids,
        start_ns=start,
        base_ns=trace.base_ns,
        window_ns=window,
        events=trace.events,
        rows=len(work),
        ns=int(work.duration.sum()),
        busy_ns=device_union(linked, work.start == work.start),
        idle=idle_time(find_gaps(linked)),
        classes=class_times(linked),
        families=family_times(linked),
        kernels=kernel_times(linked),
        communication=communication(linked),
        copies=copy_times(linked),
        launches=launch_figures(linked, window),
        phases=phase_times(linked, steps),
        steps=steps,
        critical_path=critical_path(linked),
        memory=trace.memory,
        overhead=trace.overhead,
    )
    return msgspec.structs.replace(summary, notes=notes(summary, trace.header))


def _window(linked: LinkedTrace) -> tuple[int, int]:
    work = linked.trace.work
    if not len(work):
        return 0, 0
    start = int(work.start.min())
    return start, int(work.end.max()) - start


def with_roofline(summary: TraceSummary, path: Path, limits: ReadLimits | None = None) -> TraceSummary:
    """The summary with matrix products against the device's peaks; reads the file a second time."""
    return msgspec.structs.replace(summary, roofline=read_roofline(path, summary.devices, limits))

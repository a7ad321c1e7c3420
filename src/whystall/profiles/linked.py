"""A trace with everything joined that the analyses share: classes, launching calls, steps, order by time."""

from __future__ import annotations

import re

import msgspec
import numpy as np
from numpy.typing import NDArray

from .kernels import Classifier
from .steps import Steps, call_of_work, find_steps, step_of_calls, step_of_work
from .trace import KERNEL, Trace, used

_GRAPH_LAUNCH = re.compile(r"GraphLaunch")
# Calls in which the host waits for a copy: those without Async, and ROCm's that waits for its stream.
_BLOCKING_COPY = re.compile(r"^(cuda|hip|cu)Memcpy(?!\w*Async)")
_BLOCKING = re.compile(r"Synchronize|^(cuda|hip|cu)Memcpy(?!\w*Async)")


class LinkedTrace(msgspec.Struct, frozen=True):
    """Columns beside ``trace.work``: class index, launching call, step and whether a graph launch ran it (-1: none)."""

    trace: Trace
    classifier: Classifier
    classes: NDArray[np.int16]
    steps: Steps
    call: NDArray[np.int64]
    step: NDArray[np.int64]
    call_step: NDArray[np.int64]
    graph: NDArray[np.bool_]
    collective: NDArray[np.bool_]
    kernel: NDArray[np.bool_]
    device_ids: tuple[int, ...]

    def calls_named(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Which calls have a name that ``pattern`` finds."""
        names = self.trace.names
        wanted = np.zeros(len(names), dtype=bool)
        for number in used(self.trace.calls.name, len(names)):
            wanted[number] = pattern.search(names[number]) is not None
        found: NDArray[np.bool_] = wanted[self.trace.calls.name]
        return found

    def blocking_copies(self) -> NDArray[np.bool_]:
        return self.calls_named(_BLOCKING_COPY)

    def blocking_calls(self) -> NDArray[np.bool_]:
        return self.calls_named(_BLOCKING)


def link(trace: Trace, classifier: Classifier | None = None) -> LinkedTrace:
    """Join everything. O(n log n) in the rows of the trace."""
    classifier = classifier or Classifier()
    classes = classifier.columns(trace.names, trace.work)
    steps = find_steps(trace)
    call = call_of_work(trace)
    call_step = step_of_calls(trace.calls, steps) if len(steps) else np.full(len(trace.calls), -1, dtype=np.int64)
    graph_call = np.array([bool(_GRAPH_LAUNCH.search(name)) for name in trace.names], dtype=bool)[trace.calls.name]
    graph = np.zeros(len(call), dtype=bool)
    graph[call >= 0] = graph_call[call[call >= 0]]
    comm = [number for number, id in enumerate(classifier.ids) if classifier.family(id) == "collective"]
    return LinkedTrace(
        trace,
        classifier,
        classes,
        steps,
        call,
        step_of_work(call, call_step),
        call_step,
        graph,
        np.isin(classes, comm) & (trace.work.kind == KERNEL),
        trace.work.kind == KERNEL,
        tuple(np.unique(trace.work.device).tolist()),
    )

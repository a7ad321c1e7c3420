"""Time per step and per phase: pure decode, prefill, mixed, and what no step launched."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .intervals import union_length
from .linked import LinkedTrace
from .shares import device_union, family_times, share
from .summary import PhaseTime, StepTime

_ORDER = ("prefill", "mixed", "decode", "empty", "capture", "other", "outside")


def step_times(linked: LinkedTrace) -> tuple[StepTime, ...]:
    """Every step in the order of its start."""
    order = np.argsort(linked.step, kind="stable")
    edges = np.searchsorted(linked.step[order], np.arange(len(linked.steps) + 1))
    return tuple(_step(linked, index, order[edges[index] : edges[index + 1]]) for index in range(len(linked.steps)))


def _step(linked: LinkedTrace, index: int, rows: NDArray[np.intp]) -> StepTime:
    work, steps = linked.trace.work, linked.steps
    name = steps.names[index]
    start, end, duration = work.start[rows], work.end[rows], work.duration[rows]
    devices = work.device[rows]
    busy = sum(union_length(start[devices == device], end[devices == device]) for device in np.unique(devices).tolist())
    return StepTime(
        index=index,
        name=steps.texts[index],
        phase=name.phase,
        context_requests=name.context_requests,
        context_tokens=name.context_tokens,
        generation_requests=name.generation_requests,
        generation_tokens=name.generation_tokens,
        start_ns=int(steps.start[index]),
        host_ns=int(steps.duration[index]),
        gpu_start_ns=int(start.min()) if len(rows) else None,
        gpu_end_ns=int(end.max()) if len(rows) else None,
        busy_ns=busy,
        ns=int(duration.sum()),
        kernels=int(linked.kernel[rows].sum()),
        graph_kernels=int((linked.graph[rows] & linked.kernel[rows]).sum()),
        families=_families(linked, rows),
    )


def _families(linked: LinkedTrace, rows: NDArray[np.intp]) -> dict[str, int]:
    sums = np.zeros(len(linked.classifier.ids), dtype=np.int64)
    np.add.at(sums, linked.classes[rows], linked.trace.work.duration[rows])
    found: dict[str, int] = {}
    for number in np.flatnonzero(sums).tolist():
        family = linked.classifier.family(linked.classifier.ids[number])
        found[family] = found.get(family, 0) + int(sums[number])
    return found


def phase_times(linked: LinkedTrace, steps: tuple[StepTime, ...]) -> tuple[PhaseTime, ...]:
    """Every phase that occurs; ``outside`` where a trace has steps and work that none of them launched."""
    if not steps:
        return ()
    phase_of = np.array([_ORDER.index(step.phase) for step in steps] + [_ORDER.index("outside")])
    phase = phase_of[linked.step]  # -1, outside any step, takes the last
    total = int(linked.trace.work.duration.sum())
    found = []
    for number, name in enumerate(_ORDER):
        mine = [step for step in steps if step.phase == name]
        rows = phase == number
        if mine or rows.any():
            found.append(_phase(linked, name, mine, rows, total))
    return tuple(found)


def _phase(linked: LinkedTrace, name: str, steps: list[StepTime], rows: NDArray[np.bool_], total: int) -> PhaseTime:
    ns = int(linked.trace.work.duration[rows].sum())
    graph = int(linked.trace.work.duration[rows & linked.graph].sum())
    return PhaseTime(
        phase=name,
        steps=len(steps),
        ns=ns,
        busy_ns=device_union(linked, rows),
        share=share(ns, total),
        host_p50_ns=float(np.median([step.host_ns for step in steps])) if steps else None,
        busy_p50_ns=float(np.median([step.busy_ns for step in steps])) if steps else None,
        kernels_per_step=float(np.mean([step.kernels for step in steps])) if steps else None,
        graph_share=share(graph, ns),
        families=family_times(linked, rows),
    )

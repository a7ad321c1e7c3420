"""A window of one or more traces, and of requests, as Chrome JSON: Perfetto and TensorBoard open it.

Times are on one clock: unix microseconds less a common base, where the files have a base; else each file's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TextIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from .linked import LinkedTrace
from .spans import RequestTime
from .trace import Ints

_GPU_PID, _HOST_PID, _REQUEST_PID = 1_000, 2_000, 3_000


class ExportWindow(msgspec.Struct, frozen=True):
    """From and to, ns on the common clock; None is open."""

    start_ns: int | None = None
    end_ns: int | None = None

    def holds(self, start: Ints, end: Ints) -> NDArray[np.bool_]:
        """Which intervals reach into the window."""
        keep = np.ones(len(start), dtype=bool)
        if self.start_ns is not None:
            keep &= end >= self.start_ns
        if self.end_ns is not None:
            keep &= start <= self.end_ns
        return keep


def write_chrome(
    out: TextIO, traces: Sequence[LinkedTrace], requests: Sequence[RequestTime] = (), window: ExportWindow | None = None
) -> int:
    """Write the document, event by event; the number of events written."""
    window = window or ExportWindow()
    base = common_base(traces, requests)
    out.write(f'{{"displayTimeUnit": "ms", "baseTimeNanoseconds": {base}, "traceEvents": [')
    count = 0
    for event in _events(traces, requests, window, base):
        out.write((",\n" if count else "\n") + event)
        count += 1
    out.write('\n], "traceName": "whystall"}\n')
    return count


def common_base(traces: Sequence[LinkedTrace], requests: Sequence[RequestTime]) -> int:
    """The earliest time that anything starts, unix ns; 0 where a trace has no base time."""
    if any(linked.trace.base_ns is None for linked in traces):
        return 0
    starts = [
        (linked.trace.base_ns or 0) + int(linked.trace.work.start.min()) for linked in traces if len(linked.trace.work)
    ]
    starts += [request.start_ns for request in requests]
    return min(starts, default=0)


def _events(
    traces: Sequence[LinkedTrace], requests: Sequence[RequestTime], window: ExportWindow, base: int
) -> Iterator[str]:
    for number, linked in enumerate(traces):
        shift = (linked.trace.base_ns or 0) - base if base else 0
        yield from _of_trace(number, linked, shift, window)
    if requests:
        yield _named("process_name", _REQUEST_PID, 0, "requests")
    for row, request in enumerate(requests):
        yield from _of_request(row, request, base)


def _of_trace(number: int, linked: LinkedTrace, shift: int, window: ExportWindow) -> Iterator[str]:
    trace, work = linked.trace, linked.trace.work
    label = f"rank {trace.rank}" if trace.rank is not None else trace.file
    yield _named("process_name", _HOST_PID + number, 0, f"host, {label}")
    yield _named("process_name", _GPU_PID + number, 0, f"GPU, {label}")
    names = [msgspec.json.encode(name).decode() for name in trace.names]
    for row in np.flatnonzero(window.holds(work.start + shift, work.end + shift)).tolist():
        args = f'"class": "{linked.classifier.ids[int(linked.classes[row])]}", "correlation": {work.correlation[row]}'
        args += f', "step": {linked.step[row]}, "device": {work.device[row]}, "stream": {work.stream[row]}'
        yield _complete(
            names[int(work.name[row])], "kernel" if work.kind[row] == 0 else "gpu_memcpy", _GPU_PID + number,
            int(work.stream[row]), int(work.start[row]) + shift, int(work.duration[row]), args,
        )  # fmt: skip
    calls, steps = trace.calls, linked.steps
    for row in np.flatnonzero(window.holds(calls.start + shift, calls.end + shift)).tolist():
        yield _complete(
            names[int(calls.name[row])], "cuda_runtime", _HOST_PID + number, int(calls.thread[row]),
            int(calls.start[row]) + shift, int(calls.duration[row]), f'"correlation": {calls.correlation[row]}',
        )  # fmt: skip
    for row in np.flatnonzero(window.holds(steps.start + shift, steps.end + shift)).tolist():
        name = msgspec.json.encode(steps.texts[row]).decode()
        yield _complete(
            name, "user_annotation", _HOST_PID + number, int(steps.thread[row]), int(steps.start[row]) + shift,
            int(steps.duration[row]), f'"phase": "{steps.names[row].phase}", "step": {row}',
        )  # fmt: skip


def _of_request(row: int, request: RequestTime, base: int) -> Iterator[str]:
    name = msgspec.json.encode(request.request_id or request.trace_id or f"request {row}").decode()
    yield _named("thread_name", _REQUEST_PID, row, request.request_id or f"request {row}")
    yield _complete(name, "request", _REQUEST_PID, row, request.start_ns - base, request.e2e_ns, "")
    at = request.start_ns - base
    for phase in ("frontend", "queue", "prefill", "decode"):
        duration = getattr(request, f"{phase}_ns")
        if duration:
            yield _complete(f'"{phase}"', "request", _REQUEST_PID, row, at, duration, "")
            at += duration


def _complete(name: str, category: str, pid: int, tid: int, start: int, duration: int, args: str) -> str:
    """One event, its times exact: microseconds with three decimals."""
    return (
        f'{{"ph": "X", "cat": "{category}", "name": {name}, "pid": {pid}, "tid": {tid}, "ts": {microseconds(start)}, '
        f'"dur": {microseconds(duration)}, "args": {{{args}}}}}'
    )


def _named(kind: str, pid: int, tid: int, name: str) -> str:
    text = msgspec.json.encode(name).decode()
    return f'{{"ph": "M", "name": "{kind}", "pid": {pid}, "tid": {tid}, "args": {{"name": {text}}}}}'


def microseconds(ns: int) -> str:
    """Whole nanoseconds as microseconds, without a float in between."""
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"

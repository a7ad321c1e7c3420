"""One request across tracing and profiling: its span, the steps it took part in, their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

from whystall.errors import UsageError
from whystall.model.text import Text

from .intervals import union_length
from .linked import LinkedTrace
from .phases import step_times
from .shares import family_times
from .spans import PHASE_NAMES, RequestTime, Span, summarise_spans
from .summary import FamilyTime, StepTime


class RequestStep(msgspec.Struct, frozen=True):
    """A step while the request was scheduled; times from the request's arrival, ns."""

    file: str
    step: StepTime
    start_ns: int
    end_ns: int
    during: Literal["prefill", "decode", "both"]


class RequestTimeline(msgspec.Struct, frozen=True):
    """The JSON contract ``whystall.trace_request/1``. ``gpu_ns`` is time at which the steps' kernels ran."""

    headline: Text
    request: RequestTime
    steps: tuple[RequestStep, ...]
    families: tuple[FamilyTime, ...]
    gpu_ns: int
    covered_ratio: float | None
    schema: Literal["whystall.trace_request/1"] = "whystall.trace_request/1"


def find_request(spans: Sequence[Span], id: str) -> RequestTime:
    """The request whose id or trace id is, or begins with, ``id``. Raises :class:`UsageError` for none or several."""
    requests = summarise_spans(spans).requests
    exact = [request for request in requests if id in (request.request_id, request.trace_id)]
    found = exact or [r for r in requests if r.request_id.startswith(id) or r.trace_id.startswith(id)]
    if len(found) == 1:
        return found[0]
    slowest = ", ".join(r.request_id or r.trace_id for r in sorted(requests, key=lambda r: -r.e2e_ns)[:3])
    what = "no request" if not found else f"{len(found)} requests"
    raise UsageError(f"{what} with the id {id!r} among {len(requests)}", f"The slowest are {slowest}.")


def join_request(request: RequestTime, traces: Sequence[LinkedTrace]) -> RequestTimeline:
    """Steps that ran while the request was scheduled, by wall clock. A scheduled request is in every step of its engine.

    Without ``traces`` there is the waterfall alone. Raises :class:`UsageError` where a profile has no base time, or does
    not cover the request at all.
    """
    start, end = _scheduled(request)
    steps: list[RequestStep] = []
    families: list[FamilyTime] = []
    gpu = covered = 0
    for linked in traces:
        base = linked.trace.base_ns
        if base is None:
            raise UsageError(f"{linked.trace.file} has no base time, so its clock cannot be joined", _BASE_HINT)
        mine = [
            step for step in step_times(linked) if _spans_of(step, base)[1] >= start and _spans_of(step, base)[0] <= end
        ]
        steps += [_step(step, base, request, linked.trace.file) for step in mine]
        rows = np.isin(linked.step, [step.index for step in mine])
        families += family_times(linked, rows) if rows.any() else []
        gpu += union_length(linked.trace.work.start[rows], linked.trace.work.end[rows])
        covered = max(covered, _overlap(linked, base, start, end))
    if traces and not steps:
        raise UsageError(
            f"no step of the profile ran while {request.request_id or 'the request'} was scheduled",
            "Profile and trace the same time; the profile's window is a few seconds at most.",
        )
    ratio = covered / (end - start) if end > start else None
    headline = _headline(request, steps, gpu) if traces else _alone(request)
    return RequestTimeline(headline, request, tuple(steps), tuple(families), gpu, ratio)


_BASE_HINT = "PyTorch writes baseTimeNanoseconds since 2.2; profile again with a newer one."


def _scheduled(request: RequestTime) -> tuple[int, int]:
    """From the first time it was scheduled to its last token, unix ns."""
    waited = (request.frontend_ns or 0) + (request.queue_ns or 0)
    return request.start_ns + waited, request.end_ns


def _spans_of(step: StepTime, base: int) -> tuple[int, int]:
    """The step's host range and GPU work together, unix ns."""
    starts = [step.start_ns, *([step.gpu_start_ns] if step.gpu_start_ns is not None else [])]
    ends = [step.start_ns + step.host_ns, *([step.gpu_end_ns] if step.gpu_end_ns is not None else [])]
    return min(starts) + base, max(ends) + base


def _step(step: StepTime, base: int, request: RequestTime, file: str) -> RequestStep:
    start, end = _spans_of(step, base)
    first_token = _scheduled(request)[0] + (request.prefill_ns or 0)
    during: Literal["prefill", "decode", "both"] = "both"
    if request.prefill_ns is not None:
        during = "prefill" if end <= first_token else "decode" if start >= first_token else "both"
    return RequestStep(file, step, start - request.start_ns, end - request.start_ns, during)


def _overlap(linked: LinkedTrace, base: int, start: int, end: int) -> int:
    work = linked.trace.work
    if not len(work):
        return 0
    return max(min(int(work.end.max()) + base, end) - max(int(work.start.min()) + base, start), 0)


def _alone(request: RequestTime) -> Text:
    phases = {name: getattr(request, f"{name}_ns") or 0 for name in ("frontend", "queue", "prefill", "decode", "other")}
    longest = max(phases, key=lambda name: phases[name])
    share = phases[longest] / request.e2e_ns if request.e2e_ns else 0.0
    return Text(
        "The request took {e2e:span}, {share:.0%} of it in {phase}.",
        "该请求用时 {e2e:span}，其中 {share:.0%} 在 {phase}。",
    ).format(e2e=request.e2e_ns / 1e9, share=share, phase=PHASE_NAMES[longest])


def _headline(request: RequestTime, steps: Sequence[RequestStep], gpu: int) -> Text:
    text = Text(
        "The request took {e2e:span} and was in {n:one profiled step|# profiled steps}; "
        "they kept the GPU busy for {gpu:span}.",
        "该请求用时 {e2e:span}，参与了 {n} 个被采集的步骤，这些步骤让 GPU 忙了 {gpu:span}。",
    )
    return text.format(e2e=request.e2e_ns / 1e9, n=len(steps), gpu=gpu / 1e9)

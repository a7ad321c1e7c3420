"""Request spans of any tracing system, and what they say: a waterfall per request, time by phase, the tail.

vLLM emits one span per request, ``llm_request``, with its phases as attributes; the children of a waterfall are made
from those. Names that some stacks add (``scheduler_wait`` and others) are taken as phases too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from whystall.model.text import Text

from .summary import Note

Floats = NDArray[np.float64]
REQUEST_SPAN = "llm_request"
PHASES = ("frontend", "queue", "prefill", "decode", "other")
PHASE_NAMES = {
    "frontend": Text("the front end", "前端"),
    "queue": Text("the queue", "排队"),
    "prefill": Text("prefill", "prefill"),
    "decode": Text("decode", "decode"),
    "other": Text("the rest", "其余"),
}
_LATENCY = "gen_ai.latency."
# Spans that other stacks write, the phase they stand for, and the folk threshold people quote for each, in ns.
LEGACY = {
    "api_server_request": ("frontend", 50_000_000),
    "scheduler_wait": ("queue", 100_000_000),
    "model_executor": ("decode", 0),
    "cuda_kernel": ("decode", 10_000_000),
}


class Span(msgspec.Struct, frozen=True):
    """One span of any system; times in unix nanoseconds, ids as the file has them."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    service: str = ""
    attributes: dict[str, str | float] = {}

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


class RequestTime(msgspec.Struct, frozen=True):
    """One request's waterfall, in order; phases in ns, None where the span does not say."""

    request_id: str
    trace_id: str
    start_ns: int
    end_ns: int
    frontend_ns: int | None
    queue_ns: int | None
    prefill_ns: int | None
    decode_ns: int | None
    other_ns: int | None
    prompt_tokens: float | None
    output_tokens: float | None

    @property
    def e2e_ns(self) -> int:
        return self.end_ns - self.start_ns


class PhaseSpread(msgspec.Struct, frozen=True):
    """A phase over all requests. ``tail_ns`` is its mean in the slowest 1% less its mean around the median."""

    phase: str
    count: int
    mean_ns: float
    p50_ns: float
    p95_ns: float
    p99_ns: float
    tail_ns: float | None
    tail_share: float | None


class SpanTime(msgspec.Struct, frozen=True):
    """All spans of one name."""

    name: str
    count: int
    p50_ns: float
    p99_ns: float
    max_ns: int


class SpanSummary(msgspec.Struct, frozen=True):
    """``slowest`` are request ids. ``tail_phase`` grows most from the median request to the slowest 1%."""

    spans: int
    requests: tuple[RequestTime, ...]
    phases: tuple[PhaseSpread, ...]
    names: tuple[SpanTime, ...]
    tail_phase: str | None
    slowest: tuple[str, ...]
    notes: tuple[Note, ...] = ()


def summarise_spans(spans: Sequence[Span]) -> SpanSummary:
    """Waterfalls and distributions of any number of spans."""
    requests = tuple(sorted((_request(span) for span in spans if span.name == REQUEST_SPAN), key=lambda r: r.start_ns))
    if not requests:
        requests = _legacy_requests(spans)
    phases = _phases(requests)
    told = [phase for phase in phases if phase.tail_share is not None]
    worst = max(told, key=lambda phase: phase.tail_ns or 0.0, default=None)
    return SpanSummary(
        spans=len(spans),
        requests=requests,
        phases=phases,
        names=_names(spans),
        tail_phase=worst.phase if worst and (worst.tail_ns or 0) > 0 else None,
        slowest=tuple(r.request_id or r.trace_id for r in sorted(requests, key=lambda r: -r.e2e_ns)[:5]),
        notes=_notes(spans, requests),
    )


def _request(span: Span) -> RequestTime:
    """Front end = TTFT - queue - prefill: arrival, tokenising, and the way back of the first token."""
    values = {
        name: _seconds_ns(span.attributes.get(_LATENCY + name))
        for name in ("time_to_first_token", "time_in_queue", "time_in_model_prefill", "time_in_model_decode", "e2e")
    }
    ttft, queue, prefill, decode, _ = values.values()
    frontend = max(ttft - queue - prefill, 0) if None not in (ttft, queue, prefill) else None  # type: ignore[operator]
    known = [part for part in (frontend, queue, prefill, decode) if part is not None]
    rest = max(span.duration_ns - sum(known), 0) if len(known) == 4 else None
    return RequestTime(
        request_id=str(span.attributes.get("gen_ai.request.id", "")),
        trace_id=span.trace_id,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        frontend_ns=frontend,
        queue_ns=queue,
        prefill_ns=prefill,
        decode_ns=decode,
        other_ns=rest,
        prompt_tokens=_number(span.attributes.get("gen_ai.usage.prompt_tokens")),
        output_tokens=_number(span.attributes.get("gen_ai.usage.completion_tokens")),
    )


def _legacy_requests(spans: Sequence[Span]) -> tuple[RequestTime, ...]:
    """Requests of a stack that writes a span a phase: one request a trace."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        if span.name in LEGACY:
            traces.setdefault(span.trace_id, []).append(span)
    return tuple(sorted((_from_children(parts) for parts in traces.values()), key=lambda r: r.start_ns))


def _from_children(parts: list[Span]) -> RequestTime:
    start, end = min(span.start_ns for span in parts), max(span.end_ns for span in parts)
    sums = {span.name: 0 for span in parts}
    for span in parts:
        sums[span.name] += span.duration_ns
    queue, model = sums.get("scheduler_wait"), sums.get("model_executor")
    whole = sums.get("api_server_request")
    frontend = max(whole - (queue or 0) - (model or 0), 0) if whole is not None and model is not None else None
    return RequestTime("", parts[0].trace_id, start, end, frontend, queue, None, model, None, None, None)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and np.isfinite(value) else None


def _seconds_ns(value: object) -> int | None:
    number = _number(value)
    return round(number * 1e9) if number is not None and 0 <= number < 1e9 else None


def _phases(requests: Sequence[RequestTime]) -> tuple[PhaseSpread, ...]:
    found = []
    slow = _slow(requests)
    for phase in PHASES:
        values = [getattr(request, f"{phase}_ns") for request in requests]
        known = np.array([value for value in values if value is not None], dtype=np.float64)
        if len(known):
            found.append(_spread(phase, known, values, slow))
    return tuple(found)


def _slow(requests: Sequence[RequestTime]) -> tuple[list[int], list[int], float]:
    """Rows of the slowest 1% and of the middle fifth by duration, and how much slower the former are on average."""
    order = sorted(range(len(requests)), key=lambda row: requests[row].e2e_ns)
    count = len(order)
    if count < 5:
        return [], [], 0.0
    tail = order[-max(1, round(count * 0.01)) :]
    middle = order[int(count * 0.4) : int(count * 0.6) + 1]
    mean = [float(np.mean([requests[row].e2e_ns for row in rows])) for rows in (tail, middle)]
    return tail, middle, mean[0] - mean[1]


def _spread(
    phase: str, known: Floats, values: list[int | None], slow: tuple[list[int], list[int], float]
) -> PhaseSpread:
    tail, middle, grown = slow
    parts = [[value for row in rows if (value := values[row]) is not None] for rows in (tail, middle)]
    more = float(np.mean(parts[0]) - np.mean(parts[1])) if parts[0] and parts[1] else None
    p50, p95, p99 = (float(value) for value in np.quantile(known, [0.5, 0.95, 0.99]))
    share = more / grown if more is not None and grown > 0 else None
    return PhaseSpread(phase, len(known), float(known.mean()), p50, p95, p99, more, share)


def _names(spans: Iterable[Span]) -> tuple[SpanTime, ...]:
    durations: dict[str, list[int]] = {}
    for span in spans:
        durations.setdefault(span.name, []).append(span.duration_ns)
    rows = [
        SpanTime(name, len(ns), float(np.median(ns)), float(np.quantile(ns, 0.99)), max(ns))
        for name, ns in durations.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.count * row.p50_ns))


def _notes(spans: Sequence[Span], requests: Sequence[RequestTime]) -> tuple[Note, ...]:
    found = []
    names = {span.name for span in spans}
    if not requests:
        found.append(Note("no_request_spans", "missing", _NO_REQUESTS))
    for name, (_, limit) in LEGACY.items():
        over = sum(1 for span in spans if span.name == name and limit and span.duration_ns > limit)
        if over:
            text = _LEGACY_TEXT.format(name=name, over=over, ms=limit / 1e6)
            found.append(Note(f"legacy_{name}", "rule", text))
    if "model_executor" in names:
        found.append(Note("legacy_model_executor", "rule", _LINEAR))
    return tuple(found)


_NO_REQUESTS = Text(
    "No llm_request spans: start the server with --otlp-traces-endpoint; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT alone gives "
    "start-up spans only.",
    "没有 llm_request span：启动时请加 --otlp-traces-endpoint；"
    "只设 OTEL_EXPORTER_OTLP_TRACES_ENDPOINT 只得到启动阶段的 span。",
)
_LEGACY_TEXT = Text(
    "{over} {name} spans are over the {ms:g} ms rule of thumb. vLLM writes no such span; what it covers depends on who "
    "added it, so compare with your own median.",
    "{over} 个 {name} span 超过 {ms:g} 毫秒的经验阈值。vLLM 本身没有这种 span；含义取决于添加者，请与你自己的中位数比较。",
)
_LINEAR = Text(
    "model_executor is often said to be linear in batch size; decode steps are nearly flat until the memory bandwidth or "
    "the token budget binds.",
    "常说 model_executor 与批大小成线性；实际上在显存带宽或 token 预算成为瓶颈之前，decode 步几乎不变。",
)

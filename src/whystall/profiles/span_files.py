"""Spans of OpenTelemetry (JSON, JSON lines, protobuf), Jaeger and Zipkin files to one shape.

What the file says is taken as data only: attribute values are text or numbers, unknown fields are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import NotATrace
from whystall.model.recording import InputWarning
from whystall.model.text import Text

from .bytestream import ByteStream, ReadLimits
from .spans import Span

LIMITS = ReadLimits(max_bytes=1 << 30)
Found = tuple[list[Span], tuple[InputWarning, ...]]


class _Value(msgspec.Struct, rename="camel"):
    string_value: str | None = None
    int_value: int | str | None = None
    double_value: float | str | None = None
    bool_value: bool | None = None


class _Attribute(msgspec.Struct):
    key: str = ""
    value: _Value | None = None


class _OtlpSpan(msgspec.Struct, rename="camel"):
    trace_id: str = ""
    span_id: str = ""
    parent_span_id: str = ""
    name: str = ""
    start_time_unix_nano: int | str = 0
    end_time_unix_nano: int | str = 0
    attributes: list[_Attribute] = []


class _Scope(msgspec.Struct):
    spans: list[_OtlpSpan] = []


class _Resource(msgspec.Struct):
    attributes: list[_Attribute] = []


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_Scope] = []
    instrumentation_library_spans: list[_Scope] = []  # before 2022


class _Export(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] = []


class _Tag(msgspec.Struct):
    key: str = ""
    value: str | int | float | bool | None = None


class _Reference(msgspec.Struct, rename={"kind": "refType", "span_id": "spanID"}):
    kind: str = ""
    span_id: str = ""


class _JaegerSpan(
    msgspec.Struct,
    rename={
        "trace_id": "traceID",
        "span_id": "spanID",
        "name": "operationName",
        "start": "startTime",
        "process": "processID",
    },
):
    trace_id: str = ""
    span_id: str = ""
    name: str = ""
    start: int = 0
    duration: int = 0
    references: list[_Reference] = []
    tags: list[_Tag] = []
    process: str = ""


class _Process(msgspec.Struct, rename={"name": "serviceName"}):
    name: str = ""


class _JaegerTrace(msgspec.Struct):
    spans: list[_JaegerSpan] = []
    processes: dict[str, _Process] = {}


class _Jaeger(msgspec.Struct):
    data: list[_JaegerTrace] = []


class _Endpoint(msgspec.Struct, rename={"name": "serviceName"}):
    name: str = ""


class _ZipkinSpan(msgspec.Struct, rename={"trace_id": "traceId", "parent_id": "parentId", "endpoint": "localEndpoint"}):
    trace_id: str = ""
    id: str = ""
    parent_id: str = ""
    name: str = ""
    timestamp: int = 0
    duration: int = 0
    endpoint: _Endpoint | None = None
    tags: dict[str, str] = {}


def read_text(path: Path) -> bytes:
    """The whole text of a file, up to a gigabyte."""
    with ByteStream(path, LIMITS) as stream:
        parts = []
        while block := stream.read():
            parts.append(block)
        return b"".join(parts)


def read_otlp_json(path: Path) -> Found:
    """One export request, an array of them, or one a line; a line that is cut off is left out and counted."""
    spans: list[Span] = []
    lost = 0
    for text in _documents(read_text(path)):
        try:
            exports = msgspec.json.decode(text, type=_Export | list[_Export])
        except (msgspec.DecodeError, UnicodeDecodeError):
            lost += 1
            continue
        for export in exports if isinstance(exports, list) else [exports]:
            spans.extend(_otlp(export))
    return _kept(path, spans, lost)


def _documents(text: bytes) -> list[bytes]:
    """The text as one document, or its lines where it holds one on each."""
    stripped = text.strip()
    first, _, rest = stripped.partition(b"\n")
    lines = rest.strip() and first.startswith(b"{") and first.endswith(b"}") and b'"resourceSpans"' in first
    return [line for line in stripped.splitlines() if line.strip()] if lines else [stripped]


def _otlp(export: _Export) -> Iterator[Span]:
    for resource in export.resource_spans:
        service = str(_attributes(resource.resource.attributes if resource.resource else []).get("service.name", ""))
        for scope in (*resource.scope_spans, *resource.instrumentation_library_spans):
            for span in scope.spans:
                yield Span(
                    trace_id=span.trace_id,
                    span_id=span.span_id,
                    parent_id=span.parent_span_id,
                    name=span.name,
                    start_ns=_whole(span.start_time_unix_nano),
                    end_ns=_whole(span.end_time_unix_nano),
                    service=service,
                    attributes=_attributes(span.attributes),
                )


def _attributes(entries: list[_Attribute]) -> dict[str, str | float]:
    found: dict[str, str | float] = {}
    for entry in entries:
        value = entry.value
        if value is None:
            continue
        if value.double_value is not None or value.int_value is not None:
            number = value.double_value if value.double_value is not None else value.int_value
            found[entry.key] = _float(number)
        elif value.string_value is not None:
            found[entry.key] = value.string_value
        elif value.bool_value is not None:
            found[entry.key] = float(value.bool_value)
    return found


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _whole(value: int | str) -> int:
    try:
        number = int(value)
    except ValueError:
        return 0
    return number if 0 <= number < 1 << 63 else 0


def read_otlp_protobuf(path: Path) -> Found:
    """An ``ExportTraceServiceRequest`` or ``TracesData`` message (their bytes are the same), as OTLP/HTTP sends it."""
    export = parse_otlp_protobuf(read_text(path))
    if export is None:
        raise NotATrace(f"{path.name} is not an OTLP message", "Give OTLP JSON, or the raw body of one export request.")
    return _kept(path, list(_otlp(export)), 0)


def parse_otlp_protobuf(body: bytes) -> _Export | None:
    """The message as our shape; None where the bytes are something else."""
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    try:
        request.ParseFromString(body)
        if not request.resource_spans:
            return None
        content = MessageToDict(request)
        for resource in content["resourceSpans"]:
            for scope in resource.get("scopeSpans", []):
                for span in scope.get("spans", []):
                    span.update({key: _hex(span[key]) for key in ("traceId", "spanId", "parentSpanId") if key in span})
        return msgspec.convert(content, _Export)
    except (DecodeError, msgspec.ValidationError, ValueError):
        return None


def _hex(base64: str) -> str:
    import binascii

    return binascii.a2b_base64(base64).hex()


def read_jaeger(path: Path) -> Found:
    """The JSON of Jaeger's ``/api/traces`` and of its UI's download."""
    try:
        body = msgspec.json.decode(read_text(path), type=_Jaeger)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _broken(path, "Jaeger", error) from error
    spans = [_jaeger(span, trace) for trace in body.data for span in trace.spans]
    return _kept(path, spans, 0)


def _jaeger(span: _JaegerSpan, trace: _JaegerTrace) -> Span:
    parent = next((ref.span_id for ref in span.references if ref.kind == "CHILD_OF"), "")
    process = trace.processes.get(span.process)
    start = _whole(span.start) * 1000
    return Span(
        span.trace_id,
        span.span_id,
        parent,
        span.name,
        start,
        start + max(span.duration, 0) * 1000,
        process.name if process else "",
        {tag.key: _tag(tag.value) for tag in span.tags if tag.value is not None},
    )


def _tag(value: str | int | float | bool | None) -> str | float:
    """Numbers, also those that Zipkin wrote as text."""
    if isinstance(value, str):
        number = _float(value)
        return value if number != number else number
    return float(value or 0)


def read_zipkin(path: Path) -> Found:
    """Zipkin's v2 JSON: an array of spans, or an array of traces."""
    try:
        body = msgspec.json.decode(read_text(path), type=list[_ZipkinSpan | list[_ZipkinSpan]])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _broken(path, "Zipkin", error) from error
    flat = [span for entry in body for span in (entry if isinstance(entry, list) else [entry])]
    return _kept(path, [_zipkin(span) for span in flat], 0)


def _zipkin(span: _ZipkinSpan) -> Span:
    start = _whole(span.timestamp) * 1000
    tags = {key: value if key.endswith(".id") else _tag(value) for key, value in span.tags.items()}
    service = span.endpoint.name if span.endpoint else ""
    end = start + max(span.duration, 0) * 1000
    return Span(span.trace_id, span.id, span.parent_id, span.name, start, end, service, tags)


def _broken(path: Path, kind: str, error: Exception) -> NotATrace:
    return NotATrace(f"{path.name} looks like {kind} JSON but is not whole: {error}", "Export it again.")


def _kept(path: Path, spans: list[Span], lost: int) -> Found:
    """Spans with usable times, and what is missing."""
    good = [span for span in spans if 0 < span.start_ns <= span.end_ns]
    warnings = []
    if lost:
        warnings.append(InputWarning("invalid_json_rejected", _LOST.format(n=lost), path.name))
    if len(good) < len(spans):
        warnings.append(InputWarning("events_without_time", _UNTIMED.format(n=len(spans) - len(good)), path.name))
    if not good:
        raise NotATrace(f"{path.name} holds no finished spans", "vLLM writes a request's span when it finishes.")
    return good, tuple(warnings)


_LOST = Text("{n:one document|# documents} could not be read: left out.", "{n} 个文档无法读取，已缺失。")
_UNTIMED = Text("{n:one span|# spans} had no usable times: left out.", "{n} 个 span 没有可用的时间，已缺失。")

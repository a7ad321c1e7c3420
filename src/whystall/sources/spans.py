"""OTLP export requests to the spans of finished requests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from whystall.model.recording import SpanRow

_NAN = float("nan")
_ID = 200
_MAX_NAME = 200
# vLLM names neither; whoever makes the parent span or a gateway's own may.
_ADAPTER = ("gen_ai.request.lora_name", "vllm.lora_name", "lora_name", "gen_ai.request.model")
_TENANT = ("tenant.id", "enduser.id", "user.id", "gen_ai.user")
_NUMBERS = {
    "ttft_s": "gen_ai.latency.time_to_first_token",
    "e2e_s": "gen_ai.latency.e2e",
    "queue_s": "gen_ai.latency.time_in_queue",
    "prefill_s": "gen_ai.latency.time_in_model_prefill",
    "decode_s": "gen_ai.latency.time_in_model_decode",
    "prompt_tokens": "gen_ai.usage.prompt_tokens",
    "output_tokens": "gen_ai.usage.completion_tokens",
}
REQUEST = "llm_request"  # the one span that vLLM V1 emits for a request, at its finish


class _Value(msgspec.Struct, rename="camel", frozen=True):
    string_value: str | None = None
    int_value: str | int | None = None
    double_value: float | None = None


class _Attribute(msgspec.Struct, frozen=True):
    key: str
    value: _Value = _Value()


class _Span(msgspec.Struct, rename="camel", frozen=True):
    name: str = ""
    start_time_unix_nano: str | int = 0
    end_time_unix_nano: str | int = 0
    attributes: tuple[_Attribute, ...] = ()


class _ScopeSpans(msgspec.Struct, frozen=True):
    spans: tuple[_Span, ...] = ()


class _ResourceSpans(msgspec.Struct, rename="camel", frozen=True):
    scope_spans: tuple[_ScopeSpans, ...] = ()


class ExportRow(msgspec.Struct, rename="camel", frozen=True):
    """One line of spans.jsonl: an OTLP export request in its JSON form."""

    resource_spans: tuple[_ResourceSpans, ...] = ()


def request_spans(export: ExportRow) -> Iterator[SpanRow]:
    """The request spans of one export, those without usable times left out."""
    for resource in export.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                if span.name == REQUEST and (row := _row(span)) is not None:
                    yield row


def _row(span: _Span) -> SpanRow | None:
    start, end = _seconds(span.start_time_unix_nano), _seconds(span.end_time_unix_nano)
    if not 0 < start <= end:
        return None
    return span_row(start, end, {attribute.key: _plain(attribute.value) for attribute in span.attributes})


def _plain(value: _Value) -> str | float:
    if value.double_value is not None:
        return value.double_value
    return _float(value.int_value) if value.int_value is not None else value.string_value or ""


def span_row(start: float, end: float, found: Mapping[str, object]) -> SpanRow:
    """A request span of any system from its times (unix seconds) and attributes; numbers may come as text."""
    return SpanRow(
        start=start,
        end=end,
        request_id=str(found.get("gen_ai.request.id", ""))[:_ID],
        **{field: _number(found, key) for field, key in _NUMBERS.items()},
        adapter=_name(found, _ADAPTER),
        tenant=_name(found, _TENANT),
    )


def span_export(rows: Sequence[SpanRow]) -> dict[str, Any]:
    """The rows as one OTLP export in JSON, to be read back with :func:`request_spans`."""
    spans = [
        {
            "name": REQUEST,
            "startTimeUnixNano": f"{row.start * 1e9:.0f}",
            "endTimeUnixNano": f"{row.end * 1e9:.0f}",
            "attributes": [{"key": key, "value": value} for key, value in _attributes(row)],
        }
        for row in rows
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def _attributes(row: SpanRow) -> Iterator[tuple[str, dict[str, Any]]]:
    for field, key in _NUMBERS.items():
        value = getattr(row, field)
        if math.isfinite(value):
            yield key, {"doubleValue": value}
    names = (("gen_ai.request.id", row.request_id), (_ADAPTER[0], row.adapter), (_TENANT[0], row.tenant))
    for key, text in names:
        if text:
            yield key, {"stringValue": text}


def _number(found: Mapping[str, object], key: str) -> float:
    value = found.get(key)
    return _float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else _NAN


def _name(found: Mapping[str, object], keys: tuple[str, ...]) -> str:
    """The first of the attributes that is there, as text; "" where none is."""
    return next((value[:_MAX_NAME] for key in keys if isinstance(value := found.get(key), str) and value), "")


def _float(text: str | int | float) -> float:
    try:
        return float(text)
    except (ValueError, OverflowError):
        return _NAN


def _seconds(nanoseconds: str | int) -> float:
    """0 where it is no number."""
    seconds = _float(nanoseconds) / 1e9
    return seconds if seconds == seconds else 0.0

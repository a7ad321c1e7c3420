"""Jaeger's and Zipkin's query APIs: the request spans of a service in a window."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from whystall.errors import AccessDenied, NotMetrics, Unavailable
from whystall.model.recording import SpanRow
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session
from whystall.sources.spans import REQUEST, span_row

_MOST = 10_000  # traces
_OK = 200


class _Tag(msgspec.Struct, frozen=True):
    key: str
    value: Any = None


class _JaegerSpan(msgspec.Struct, frozen=True, rename="camel"):
    operation_name: str = ""
    start_time: float = 0.0  # microseconds
    duration: float = 0.0
    tags: list[_Tag] | None = None


class _JaegerTrace(msgspec.Struct, frozen=True):
    spans: list[_JaegerSpan] = []


class _Jaeger(msgspec.Struct, frozen=True):
    data: list[_JaegerTrace] | None


class _ZipkinSpan(msgspec.Struct, frozen=True):
    name: str = ""
    timestamp: float = 0.0  # microseconds
    duration: float = 0.0
    tags: dict[str, str] = {}


async def jaeger_spans(url: str, service: str, start: float, end: float, access: Access) -> tuple[SpanRow, ...]:
    """The request spans of ``service`` between two unix times, from Jaeger's ``/api/traces``.

    Raises what the session raises, AccessDenied, Unavailable, and NotMetrics where the answer is not Jaeger's.
    """
    path = (
        f"/api/traces?service={quote(service, safe='')}&operation={REQUEST}&start={start * 1e6:.0f}"
        f"&end={end * 1e6:.0f}&limit={_MOST}"
    )
    told: _Jaeger = await _asked(url, path, access, _Jaeger, "Jaeger")
    spans = (span for trace in told.data or () for span in trace.spans)
    return _rows(
        (s.operation_name, s.start_time, s.duration, {tag.key: tag.value for tag in s.tags or ()}) for s in spans
    )


async def zipkin_spans(url: str, service: str, start: float, end: float, access: Access) -> tuple[SpanRow, ...]:
    """As :func:`jaeger_spans`, from Zipkin's ``/api/v2/traces``."""
    path = (
        f"/api/v2/traces?serviceName={quote(service.lower(), safe='')}&spanName={REQUEST}&endTs={end * 1e3:.0f}"
        f"&lookback={(end - start) * 1e3:.0f}&limit={_MOST}"
    )
    told: list[list[_ZipkinSpan]] = await _asked(url, path, access, list[list[_ZipkinSpan]], "Zipkin")
    return _rows((s.name, s.timestamp, s.duration, s.tags) for trace in told for s in trace)


async def _asked(url: str, path: str, access: Access, kind: Any, name: str) -> Any:
    address = Address.parse(url)
    async with Session(address, access) as session:
        answer = await session.get(path)
    if answer.status in (401, 403):
        raise AccessDenied(f"{name} at {address.base} answered {answer.status}", "it wants a token: --token-file")
    if answer.status >= 500:
        raise Unavailable(f"{name} at {address.base} answered {answer.status}", "look at its own log; try again")
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        what = "half an answer" if "truncated" in str(error) else f"no answer of {name}"
        raise NotMetrics(
            f"{address.base} gave {what} ({answer.status})", f"give the address of {name}'s query API"
        ) from None


def _rows(spans: Iterable[tuple[str, float, float, Mapping[str, object]]]) -> tuple[SpanRow, ...]:
    return tuple(sorted(_found(spans), key=lambda row: row.end))


def _found(spans: Iterable[tuple[str, float, float, Mapping[str, object]]]) -> Iterator[SpanRow]:
    for name, start_us, duration_us, tags in spans:
        if name.lower() == REQUEST and 0 < start_us < 1e17 and 0 <= duration_us < 1e13:
            yield span_row(start_us / 1e6, (start_us + duration_us) / 1e6, tags)

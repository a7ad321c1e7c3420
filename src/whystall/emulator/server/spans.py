"""``llm_request`` spans over OTLP/HTTP: one a finished request, with the attributes of vllm.md section 3.2."""

from __future__ import annotations

import re
from contextlib import suppress

import aiohttp
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from whystall.emulator.engine.request import Request

_EVERY_S = 1.0
_MOST = 2048  # spans kept while the collector is away
_PARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


class SpanExporter:
    """Collects spans and posts them once a second; a collector that does not answer loses them, as the SDK does."""

    def __init__(self, endpoint: str, service: str = "vllm-server") -> None:
        self.endpoint = endpoint
        self.service = service
        self._waiting: list[Span] = []
        self._session: aiohttp.ClientSession | None = None
        self._last = 0.0

    def add(self, request: Request) -> None:
        if len(self._waiting) < _MOST:
            self._waiting.append(span_of(request))

    async def flush(self, now: float) -> None:
        if not self._waiting or now - self._last < _EVERY_S:
            return
        self._last = now
        spans, self._waiting = self._waiting, []
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2))
        headers = {"Content-Type": "application/x-protobuf"}
        with suppress(aiohttp.ClientError, TimeoutError):
            async with self._session.post(self.endpoint, data=self._export(spans), headers=headers):
                pass

    async def close(self) -> None:
        await self.flush(float("inf"))
        if self._session is not None:
            await self._session.close()

    def _export(self, spans: list[Span]) -> bytes:
        message = ExportTraceServiceRequest()
        resource = message.resource_spans.add()
        resource.resource.attributes.append(_text("service.name", self.service))
        scope = resource.scope_spans.add()
        scope.scope.name = "vllm.tracing.otel"
        scope.spans.extend(spans)
        return bytes(message.SerializeToString())


def span_of(request: Request) -> Span:
    """The span of a finished request; its ids come from the request's number, so that a run can be repeated."""
    name, parent = request.tag if isinstance(request.tag, tuple) else (str(request.id), "")
    match = _PARENT.fullmatch(parent)
    span = Span(
        trace_id=bytes.fromhex(match[1]) if match else request.id.to_bytes(16, "big"),
        span_id=request.id.to_bytes(8, "big"),
        parent_span_id=bytes.fromhex(match[2]) if match else b"",
        name="llm_request",
        kind=Span.SPAN_KIND_SERVER,
        start_time_unix_nano=int(request.arrival * 1e9),
        end_time_unix_nano=int(request.finished * 1e9),
    )
    seconds = {
        "time_to_first_token": request.first_token - request.arrival,
        "e2e": request.finished - request.arrival,
        "time_in_queue": request.scheduled - request.queued,
        "time_in_model_prefill": request.first_token - request.scheduled,
        "time_in_model_decode": request.last_token - request.first_token,
        "time_in_model_inference": request.last_token - request.scheduled,
    }
    for key, value in seconds.items():
        span.attributes.append(KeyValue(key=f"gen_ai.latency.{key}", value=AnyValue(double_value=value)))
    numbers = {
        "gen_ai.usage.prompt_tokens": request.prompt_tokens,
        "gen_ai.usage.completion_tokens": request.output_tokens,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.n": 1,
    }
    for key, number in numbers.items():
        span.attributes.append(KeyValue(key=key, value=AnyValue(int_value=number)))
    span.attributes.append(_text("gen_ai.request.id", f"{name}-0"))
    return span


def _text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))

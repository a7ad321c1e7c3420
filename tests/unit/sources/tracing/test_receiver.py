"""Spans that come over OTLP: by HTTP in both forms, by gRPC, and what is refused."""

from __future__ import annotations

import gzip
import json

import aiohttp
import grpc.aio
import pytest
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from whystall.errors import UsageError
from whystall.sources.tracing import receiver
from whystall.sources.tracing.grpc_receiver import otlp_grpc
from whystall.sources.tracing.receiver import SpanBox, otlp_http

START = 1_795_998_500


def export(count=1):
    attributes = [
        {"key": "gen_ai.request.id", "value": {"stringValue": "cmpl-1"}},
        {"key": "gen_ai.latency.time_in_queue", "value": {"doubleValue": 0.25}},
        {"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "512"}},
    ]
    span = {
        "name": "llm_request",
        "startTimeUnixNano": str(START * 10**9),
        "endTimeUnixNano": str((START + 2) * 10**9),
        "attributes": attributes,
    }
    spans = [span] * count + [{**span, "name": "Worker init"}]
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def protobuf(body):
    return Parse(json.dumps(body), ExportTraceServiceRequest()).SerializeToString()


async def posted(port, body, kind="application/x-protobuf", **headers):
    async with aiohttp.ClientSession() as client:
        url = f"http://127.0.0.1:{port}/v1/traces"
        async with client.post(url, data=body, headers={"Content-Type": kind, **headers}) as answer:
            return answer.status, await answer.read()


def check(row):
    assert (row.start, row.end, row.request_id, row.queue_s, row.prompt_tokens) == (
        START,
        START + 2,
        "cmpl-1",
        0.25,
        512,
    )
    assert row.ttft_s != row.ttft_s


async def test_both_forms_plain_and_packed():
    box, body = SpanBox(), export()
    async with otlp_http("127.0.0.1:0", box) as port:
        assert await posted(port, protobuf(body)) == (200, b"")
        assert await posted(port, json.dumps(body).encode(), "application/json") == (200, b"{}")
        packed = gzip.compress(protobuf(body))
        assert (await posted(port, packed, **{"Content-Encoding": "gzip"}))[0] == 200
    assert len(box.spans()) == 3
    for row in box.spans():
        check(row)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"\xff\xff\xff", "application/x-protobuf", 400),
        (b'{"resourceSpans": [{"scopeS', "application/json", 400),
        (b'{"resourceSpans": 5}', "application/json", 400),
        (gzip.compress(b"{}", mtime=0)[:-4], "application/json", 400),
        (b"hello", "text/plain", 415),
        (gzip.compress(b"0" * (20 << 20), mtime=0), "application/x-protobuf", 413),
    ],
    ids=["no protobuf", "half an answer", "wrong shape", "cut gzip", "another kind", "a bomb"],
)
async def test_what_is_no_export_is_refused_and_counted(body, kind, status):
    box = SpanBox()
    async with otlp_http("127.0.0.1:0", box) as port:
        assert (await posted(port, body, kind))[0] == status
        assert (await posted(port, protobuf(export())))[0] == 200  # and the next one is taken
    assert (len(box.rows), box.refused) == (1, 1)


async def test_spans_are_bounded(monkeypatch):
    monkeypatch.setattr(receiver, "MOST_SPANS", 3)
    box = SpanBox()
    async with otlp_http("127.0.0.1:0", box) as port:
        await posted(port, protobuf(export(10)))
    assert len(box.rows) == 3


async def test_over_grpc():
    box = SpanBox()
    async with otlp_grpc("127.0.0.1:0", box) as port, grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        assert await call(protobuf(export())) == b""
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call(b"\xff\xff")
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    check(box.spans()[0])


@pytest.mark.parametrize("bad", ["4318", "127.0.0.1:x", "127.0.0.1:99999", ":4318"])
async def test_a_wrong_address_is_refused(bad):
    with pytest.raises(UsageError, match="no address to listen at"):
        async with otlp_http(bad, SpanBox()):
            pass


async def test_a_port_that_is_taken_is_named():
    async with otlp_http("127.0.0.1:0", SpanBox()) as port:
        with pytest.raises(UsageError, match="cannot listen at"):
            async with otlp_http(f"127.0.0.1:{port}", SpanBox()):
                pass

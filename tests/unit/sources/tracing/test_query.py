"""Jaeger and Zipkin, as their documented JSON answers."""

from __future__ import annotations

import pytest
from aiohttp import web

from servers import http_server
from whystall.errors import AccessDenied, NotMetrics, Unavailable
from whystall.sources.live.access import Access
from whystall.sources.tracing.query import jaeger_spans, zipkin_spans

NONE = Access()
START_US = 1_795_998_500_000_000
JAEGER = {
    "data": [
        {
            "traceID": "a",
            "spans": [
                {
                    "traceID": "a",
                    "spanID": "b",
                    "operationName": "llm_request",
                    "references": [],
                    "startTime": START_US,
                    "duration": 2_000_000,
                    "tags": [
                        {"key": "gen_ai.request.id", "type": "string", "value": "r1"},
                        {"key": "gen_ai.latency.time_in_queue", "type": "float64", "value": 0.5},
                        {"key": "gen_ai.usage.prompt_tokens", "type": "int64", "value": 7},
                        {"key": "error", "type": "bool", "value": True},
                    ],
                    "processID": "p1",
                },
                {"operationName": "other", "startTime": START_US, "duration": 1},
            ],
            "processes": {"p1": {"serviceName": "vllm"}},
        }
    ],
    "total": 0,
    "errors": None,
}
ZIPKIN = [
    [
        {
            "traceId": "a",
            "id": "b",
            "name": "llm_request",
            "timestamp": START_US,
            "duration": 2_000_000,
            "localEndpoint": {"serviceName": "vllm"},
            "tags": {
                "gen_ai.request.id": "r1",
                "gen_ai.latency.time_in_queue": "0.5",
                "gen_ai.usage.prompt_tokens": "7",
            },
        }
    ]
]


@pytest.mark.parametrize(
    ("ask", "body", "path", "asked"),
    [
        (
            jaeger_spans,
            JAEGER,
            "/api/traces",
            {"service": "vllm", "start": "1795998490000000", "operation": "llm_request"},
        ),
        (
            zipkin_spans,
            ZIPKIN,
            "/api/v2/traces",
            {"serviceName": "vllm", "endTs": "1795998520000", "lookback": "30000"},
        ),
    ],
)
async def test_the_request_spans_of_the_window(ask, body, path, asked):
    seen = []

    async def handler(request):
        seen.append((request.path, dict(request.query)))
        return web.json_response(body)

    async with http_server(handler) as base:
        (row,) = await ask(base, "vllm", START_US / 1e6 - 10, START_US / 1e6 + 20, NONE)
    assert (row.request_id, row.queue_s, row.prompt_tokens, row.end - row.start) == ("r1", 0.5, 7, 2)
    assert seen[0][0] == path
    assert asked.items() <= seen[0][1].items()


@pytest.mark.parametrize(
    ("status", "text", "error", "said"),
    [
        (401, "", AccessDenied, "401"),
        (503, "", Unavailable, "503"),
        (200, '{"data": [{"spa', NotMetrics, "half an answer|no answer of Zipkin"),
        (200, "<html>", NotMetrics, "no answer of"),
        (404, "not found", NotMetrics, "no answer of"),
    ],
)
@pytest.mark.parametrize("ask", [jaeger_spans, zipkin_spans])
async def test_other_answers_are_named(ask, status, text, error, said):
    async def handler(request):
        return web.Response(status=status, text=text)

    async with http_server(handler) as base:
        with pytest.raises(error, match=said):
            await ask(base, "vllm", 1, 2, NONE)


async def test_no_traces_are_no_spans():
    async def handler(request):
        return web.json_response({"data": None})

    async with http_server(handler) as base:
        assert await jaeger_spans(base, "vllm", 1, 2, NONE) == ()

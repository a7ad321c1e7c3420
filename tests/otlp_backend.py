"""Who takes OTLP over HTTP, and keeps what came."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from aiohttp import web
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue


class Backend:
    """Takes exports; answers ``status`` instead where it is set."""

    def __init__(self) -> None:
        self.status = 200
        self.logs: list[ExportLogsServiceRequest] = []
        self.metrics: list[ExportMetricsServiceRequest] = []
        self.headers: dict[str, str] = {}
        self.news = asyncio.Event()

    async def handler(self, request: web.Request) -> web.Response:
        self.headers = dict(request.headers)
        body = await request.read()
        if self.status == 200:
            kind, into = {
                "/v1/logs": (ExportLogsServiceRequest, self.logs),
                "/otlp/v1/metrics": (ExportMetricsServiceRequest, self.metrics),
                "/v1/metrics": (ExportMetricsServiceRequest, self.metrics),
            }[request.path]
            into.append(kind.FromString(body))
            self.news.set()
        return web.Response(status=self.status)


def attributes(of: Iterable[KeyValue]) -> dict[str, str]:
    return {one.key: one.value.string_value for one in of}

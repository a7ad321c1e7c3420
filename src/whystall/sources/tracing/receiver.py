"""An OTLP receiver: a server started with ``--otlp-traces-endpoint`` sends its spans here while it is looked at."""

from __future__ import annotations

import socket
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from whystall.errors import TooLarge, UsageError
from whystall.model.recording import SpanRow
from whystall.sources.spans import ExportRow, request_spans

LIMIT_BYTES = 16 * 1024 * 1024  # of one export; exporters send some hundred spans at once
MOST_SPANS = 500_000
PATH = "/v1/traces"
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_HINT = "write it as 127.0.0.1:4318, and start vLLM with --otlp-traces-endpoint http://127.0.0.1:4318/v1/traces"


class SpanBox:
    """The request spans that came. ``exports`` counts what was taken, ``refused`` what could not be read."""

    def __init__(self) -> None:
        self.rows: list[SpanRow] = []
        self.exports = 0
        self.refused = 0

    def take(self, export: ExportRow) -> None:
        """Keep the request spans of one export, up to ``MOST_SPANS`` in all."""
        self.exports += 1
        for row in request_spans(export):
            if len(self.rows) < MOST_SPANS:
                self.rows.append(row)

    def take_out(self) -> list[SpanRow]:
        """What came since the last call, by its end."""
        rows, self.rows = self.rows, []
        return sorted(rows, key=lambda row: row.end)

    def spans(self) -> tuple[SpanRow, ...]:
        """All of them by their end."""
        return tuple(sorted(self.rows, key=lambda row: row.end))


def parse_listen(text: str) -> tuple[str, int]:
    """``host:port``. Raises UsageError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 <= int(port) < 65536:
        raise UsageError(f"{text[:80]!r} is no address to listen at", _HINT)
    return host.strip("[]"), int(port)


@asynccontextmanager
async def otlp_http(listen: str, box: SpanBox) -> AsyncIterator[int]:
    """Receive over HTTP (protobuf or JSON, gzip or not) while the block runs; gives the port. Raises UsageError where it
    cannot listen there."""
    host, port = parse_listen(listen)
    app = web.Application(client_max_size=LIMIT_BYTES)

    async def taken(request: web.Request) -> web.Response:
        return await _taken(request, box)

    app.router.add_post(PATH, taken)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        try:
            listener = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            raise UsageError(f"cannot listen at {listen}: {error.strerror or error}", "take another port") from None
        await web.SockSite(runner, listener).start()
        yield int(listener.getsockname()[1])
    finally:
        await runner.cleanup()


async def _taken(request: web.Request, box: SpanBox) -> web.Response:
    kind = request.content_type
    if kind not in (_JSON, _PROTOBUF):
        box.refused += 1
        return web.Response(status=415, text="send application/x-protobuf or application/json")
    try:
        body = await request.read()
        export = decode_export(body, kind == _JSON)
    except TooLarge as error:
        box.refused += 1
        return web.Response(status=413, text=error.message)
    except ValueError:
        box.refused += 1
        return web.Response(status=400, text="not an OTLP export request")
    box.take(export)
    # The empty message says that everything was taken.
    return web.Response(body=b"{}" if kind == _JSON else b"", content_type=kind)


def unpack(body: bytes) -> bytes:
    """A gzip body in full. Raises TooLarge over the limit, ValueError where it is damaged."""
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        found = unpacker.decompress(body, LIMIT_BYTES + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(found) > LIMIT_BYTES:
        raise TooLarge("an export is over 16 MB", "")
    if not unpacker.eof:
        raise ValueError("gzip that is cut")
    return found


def decode_export(body: bytes, is_json: bool) -> ExportRow:
    """One export request. Raises ValueError (msgspec's and protobuf's are such) where it is none."""
    if body[:2] == b"\x1f\x8b":
        body = unpack(body)
    if is_json:
        try:
            return msgspec.json.decode(body, type=ExportRow)
        except RecursionError as error:
            raise ValueError("too deep") from error
    return from_protobuf(body)


def from_protobuf(body: bytes) -> ExportRow:
    """The protobuf form by way of the JSON form, so that one reader says what a span is."""
    from google.protobuf.json_format import MessageToJson
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    message: Any = ExportTraceServiceRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise ValueError(str(error)) from None
    return msgspec.json.decode(MessageToJson(message, indent=None), type=ExportRow)

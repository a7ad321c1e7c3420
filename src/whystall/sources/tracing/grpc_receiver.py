"""OTLP over gRPC, vLLM's default: an extra, because gRPC's library is large."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from whystall.errors import UsageError

from .receiver import LIMIT_BYTES, SpanBox, decode_export, parse_listen

_SERVICE, _METHOD = "opentelemetry.proto.collector.trace.v1.TraceService", "Export"


@asynccontextmanager
async def otlp_grpc(listen: str, box: SpanBox) -> AsyncIterator[int]:
    """Receive over gRPC while the block runs; gives the port. Raises UsageError without the extra, or where it cannot
    listen there."""
    try:
        grpc: Any = importlib.import_module("grpc")
        aio: Any = importlib.import_module("grpc.aio")
    except ImportError:
        raise UsageError("OTLP over gRPC needs grpcio", "pip install 'whystall[grpc]', or send over HTTP") from None
    host, port = parse_listen(listen)

    async def export(body: bytes, context: Any) -> bytes:
        try:
            box.take(decode_export(body, is_json=False))
        except ValueError:
            box.refused += 1
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "not an OTLP export request")
        return b""

    server = aio.server(options=[("grpc.max_receive_message_length", LIMIT_BYTES), ("grpc.so_reuseport", 0)])
    handler = grpc.unary_unary_rpc_method_handler(export)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {_METHOD: handler}),))
    try:
        bound = server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError as error:
        raise UsageError(f"cannot listen at {listen}: {error}", "take another port") from None
    await server.start()
    try:
        yield int(bound)
    finally:
        await server.stop(0.5)

"""A receiver of spans, over HTTP or gRPC as its address says."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from .grpc_receiver import otlp_grpc
from .receiver import SpanBox, otlp_http

_GRPC = "grpc://"


def receive(listen: str, box: SpanBox) -> AbstractAsyncContextManager[int]:
    """A receiver at ``host:port`` or ``grpc://host:port``. Entering it raises UsageError where it cannot listen there."""
    how = otlp_grpc if listen.startswith(_GRPC) else otlp_http
    return how(listen.removeprefix(_GRPC).removeprefix("http://"), box)

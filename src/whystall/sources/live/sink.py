"""Where what is collected goes while it is collected."""

from __future__ import annotations

from typing import Any

from whystall.model.recording import Health, LogLine, SpanRow
from whystall.sources.links import LinkRow

from .facts import ServerFacts

Row = dict[str, Any]


class Sink:
    """Takes everything as it comes, and drops what a subclass does not keep.

    ``rows`` are JSON objects as the lines of gpu.jsonl and host.jsonl have them.
    """

    def facts(self, facts: ServerFacts) -> None: ...
    def argv(self, argv: tuple[str, ...]) -> None: ...
    def page(self, t: float, body: bytes) -> None: ...
    def failed(self, t: float, error: str) -> None: ...
    def health(self, health: Health) -> None: ...
    def gpu(self, rows: list[Row]) -> None: ...
    def host(self, row: Row) -> None: ...
    def log(self, chunk: bytes) -> None: ...
    def spans(self, rows: list[SpanRow]) -> None: ...
    def kernel(self, lines: list[LogLine]) -> None: ...
    def links(self, rows: list[LinkRow]) -> None: ...


class Partial(Sink):
    """Hands all on to another sink but the rows that come from elsewhere: of GPUs, of the host."""

    def __init__(self, to: Sink, *, gpu: bool, host: bool) -> None:
        self._to = to
        self._gpu, self._host = gpu, host

    def facts(self, facts: ServerFacts) -> None:
        self._to.facts(facts)

    def argv(self, argv: tuple[str, ...]) -> None:
        self._to.argv(argv)

    def page(self, t: float, body: bytes) -> None:
        self._to.page(t, body)

    def failed(self, t: float, error: str) -> None:
        self._to.failed(t, error)

    def health(self, health: Health) -> None:
        self._to.health(health)

    def log(self, chunk: bytes) -> None:
        self._to.log(chunk)

    def spans(self, rows: list[SpanRow]) -> None:
        self._to.spans(rows)

    def kernel(self, lines: list[LogLine]) -> None:
        self._to.kernel(lines)

    def links(self, rows: list[LinkRow]) -> None:
        self._to.links(rows)

    def gpu(self, rows: list[Row]) -> None:
        if self._gpu:
            self._to.gpu(rows)

    def host(self, row: Row) -> None:
        if self._host:
            self._to.host(row)

"""Where what is collected goes while it is collected."""

from __future__ import annotations

from typing import Any

from whystall.model.recording import Health

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

"""A server that renders the series of a recorded vLLM page as vLLM does: by prometheus_client's ASGI app.

Serves HTTP/1.1 from asyncio itself, so that what is measured is the rendering and as little else as can be; a real vLLM
adds uvicorn and its middlewares. Prints its port. Started by scrape_cost.py.

    python benchmarks/overhead/server.py METRICS_PROM_GZ
"""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, make_asgi_app
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families


class RecordedPage:
    """A collector with the families of one page, made anew at each scrape as a live registry's are."""

    def __init__(self, page: str) -> None:
        self._families = list(text_string_to_metric_families(page))

    def collect(self) -> Iterator[Metric]:
        for family in self._families:
            copy = Metric(family.name, family.documentation, family.type)
            for sample in family.samples:
                copy.add_sample(sample.name, dict(sample.labels), sample.value)
            yield copy


def largest_page(path: Path) -> str:
    text = gzip.decompress(path.read_bytes()).decode()
    return max((scrape.partition("\n")[2] for scrape in text.split("# scrape ")), key=len)


async def serve(page: str) -> None:
    registry = CollectorRegistry()
    registry.register(RecordedPage(page))
    app = make_asgi_app(registry)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await answer(app, await reader.readuntil(b"\r\n\r\n"), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until the parent closes it
    server.close()


async def answer(app: object, head: bytes, writer: asyncio.StreamWriter) -> None:
    """One request through the ASGI app."""
    lines = head.split(b"\r\n")
    fields = (line.partition(b":") for line in lines[1:] if line)
    headers = [(name.strip().lower(), value.strip()) for name, _, value in fields]
    path = lines[0].split()[1].decode()
    status, found, body = 404, [], b""

    async def send(event: dict) -> None:
        nonlocal status, found, body
        if event["type"] == "http.response.start":
            status, found = event["status"], event["headers"]
        else:
            body += event.get("body", b"")

    async def receive() -> dict:
        return {"type": "http.request", "body": b""}

    if path == "/metrics":
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
        await app(scope, receive, send)
    found = [pair for pair in found if pair[0].lower() != b"content-length"]
    lines = [b"HTTP/1.1 %d x" % status, *(b"%b: %b" % pair for pair in found), b"Content-Length: %d" % len(body)]
    writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
    await writer.drain()


if __name__ == "__main__":
    asyncio.run(serve(largest_page(Path(sys.argv[1]))))

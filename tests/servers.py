"""Servers on loopback for tests: well behaved ones by aiohttp, others byte by byte."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def http_server(handler: Handler, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[str]:
    """Every path goes to ``handler``; gives the base URL."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", port))
    try:
        await web.SockSite(runner, listener, ssl_context=tls).start()
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_server(talk: Talk) -> AsyncIterator[str]:
    """``talk`` gets each connection after the request's headers were read."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


def pages(*bodies: str) -> Handler:
    """Serves the bodies at ``/metrics`` in turn, the last one for ever; anything else is 404."""
    left = list(bodies)

    async def handler(request: web.Request) -> web.Response:
        if request.path != "/metrics":
            raise web.HTTPNotFound
        return web.Response(text=left.pop(0) if len(left) > 1 else left[0])

    return handler


def counter_page(tokens: float, running: int = 1, start: float | None = None, label: str = "m") -> str:
    """A small page of a vLLM-like server."""
    lines = [
        "# TYPE vllm:generation_tokens_total counter",
        f'vllm:generation_tokens_total{{engine="0",model_name="{label}"}} {tokens}',
        f'vllm:prompt_tokens_total{{engine="0",model_name="{label}"}} {tokens * 2}',
        f'vllm:request_success_total{{engine="0",model_name="{label}"}} {tokens / 10}',
        f'vllm:num_requests_running{{engine="0",model_name="{label}"}} {running}',
    ]
    if start is not None:
        lines.append(f"process_start_time_seconds {start}")
    return "\n".join(lines) + "\n"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1 and its key."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *names, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


def server_tls(cert: Path, key: Path, client: Path | None = None) -> ssl.SSLContext:
    """With ``client`` only who shows that certificate is served."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    if client is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client)
    return context

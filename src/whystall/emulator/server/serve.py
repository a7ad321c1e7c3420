"""Brings a face up on a port, and takes it down again."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from whystall.errors import UsageError

from .app import Face


@asynccontextmanager
async def serving(face: Face, port: int, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Serve ``face``; yields its address. ``port`` 0 takes a free one. Raises UsageError where the port is taken."""
    runner = web.AppRunner(face.app(), access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=4096)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"port {port} on {host} cannot be used: {os.strerror(error.errno or 0)}",
                "Give another --port, or 0 for a free one.",
            ) from error
        address = runner.addresses[0]
        yield f"http://{address[0]}:{address[1]}"
    finally:
        await runner.cleanup()

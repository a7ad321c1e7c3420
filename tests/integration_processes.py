"""Programs that a test starts and ends, and what it waits for."""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import aiohttp


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.terminate()
        running.wait(timeout=20)


async def until(url: str, right: Callable[[object], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < end:
            try:
                async with session.get(url) as answer:
                    if answer.status == 200 and right(await answer.json()):
                        return
            except (aiohttp.ClientError, json.JSONDecodeError):
                pass
            await asyncio.sleep(0.2)
    raise AssertionError(f"{url} never gave what was waited for")

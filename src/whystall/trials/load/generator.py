"""Sends a load in phases to an OpenAI-compatible server and times every request from its intended moment.

Open loop: requests go out when they should, whether or not earlier ones were answered, so a slow server does not slow
the load down (no coordinated omission). Closed loop: each client waits for its answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import aiohttp
import msgspec

from whystall.emulator.engine.workload import LengthClass, Phase
from whystall.sources.client import RequestRow
from whystall.sources.live.access import Access, tls_context

_VOCABULARY = 30000  # token ids that nearly every model has
_LONGEST_LINE = 2**20
_MAX_OPEN = 20_000  # requests under way at once; above that our own sockets run out
Sink = Callable[[RequestRow], None]


class LoadTarget(msgspec.Struct, frozen=True):
    """Where the load goes: the server's base address, the model's name, how to get in, how long to wait."""

    base: str
    model: str
    access: Access = Access()
    timeout_s: float = 300.0


class _Ask(msgspec.Struct, frozen=True):
    """One request: its prompt, its output's length, and when it should go out (unix seconds)."""

    prompt: list[int]
    output_tokens: int
    intended: float


class LoadGenerator:
    """Plays phases against a target. ``sink`` gets a row for each request that ended, or failed."""

    def __init__(self, target: LoadTarget, sink: Sink, *, seed: int = 1) -> None:
        self.target = target
        self.sink = sink
        self.random = random.Random(seed)
        self.sent = 0
        self.left_out = 0  # requests that an open loop should have sent above _MAX_OPEN
        self._open: set[asyncio.Task[None]] = set()

    async def play(self, phases: Sequence[Phase]) -> None:
        """Send everything. Requests of a phase that is ``cut`` are given up at its end, the others awaited."""
        async with self._session() as session:
            try:
                for phase in phases:
                    await self._phase(session, phase.check())
                    if phase.cut:
                        await self._give_up()
                if self._open:
                    await asyncio.wait(self._open)
            finally:
                await self._give_up()

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        access = self.target.access
        headers = dict(access.headers)
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        connector = aiohttp.TCPConnector(limit=0, ssl=tls_context(access))
        timeout = aiohttp.ClientTimeout(total=self.target.timeout_s)
        async with aiohttp.ClientSession(
            headers=headers, connector=connector, timeout=timeout, read_bufsize=_LONGEST_LINE
        ) as session:
            yield session

    async def _phase(self, session: aiohttp.ClientSession, phase: Phase) -> None:
        end = time.time() + phase.seconds
        if phase.clients:
            clients = [asyncio.create_task(self._client(session, phase, end)) for _ in range(phase.clients)]
            await asyncio.sleep(max(end - time.time(), 0))
            for client in clients:
                if phase.cut:
                    client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            return
        moment = time.time()
        while moment < end:
            await asyncio.sleep(max(moment - time.time(), 0))
            for _ in range(phase.burst):
                self._spawn(session, self._ask(phase.mix, moment))
            moment += self.random.expovariate(phase.rate / phase.burst)
        await asyncio.sleep(max(end - time.time(), 0))

    async def _client(self, session: aiohttp.ClientSession, phase: Phase, end: float) -> None:
        while time.time() < end:
            await self._send(session, self._ask(phase.mix, time.time()))
            await asyncio.sleep(phase.think_s)

    def _spawn(self, session: aiohttp.ClientSession, ask: _Ask) -> None:
        if len(self._open) >= _MAX_OPEN:
            self.left_out += 1
            return
        task = asyncio.create_task(self._send(session, ask))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _give_up(self) -> None:
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _ask(self, mix: Sequence[LengthClass], moment: float) -> _Ask:
        chosen = self.random.choices(mix, weights=[c.share for c in mix])[0]
        length = self.random.randint(*chosen.prompt)
        shared = min(chosen.shared_prefix, length)
        same = random.Random(chosen.prefix or "shared")  # equal in every request of the class
        prompt = [same.randrange(10, _VOCABULARY) for _ in range(shared)]
        prompt += [self.random.randrange(10, _VOCABULARY) for _ in range(length - shared)]
        return _Ask(prompt, self.random.randint(*chosen.output), moment)

    async def _send(self, session: aiohttp.ClientSession, ask: _Ask) -> None:
        self.sent += 1
        self.sink(await timed(session, self.target, ask.prompt, ask.output_tokens, ask.intended))


async def timed(
    session: aiohttp.ClientSession, target: LoadTarget, prompt: list[int], output_tokens: int, intended: float
) -> RequestRow:
    """One streamed completion as its client sees it. What goes wrong is data: it stands in the row's ``error``."""
    body = {
        "model": target.model,
        "prompt": prompt,
        "max_tokens": output_tokens,
        "ignore_eos": True,
        "temperature": 0.8,
        "stream": True,
    }
    sent, begun = time.time(), time.perf_counter()
    moments: list[float] = []
    error: str | None = None
    try:
        async with session.post(f"{target.base}/v1/completions", json=body) as answer:
            if answer.status != 200:
                error = f"http {answer.status}"
            else:
                error = await _chunks(answer, moments)
    except (aiohttp.ClientError, TimeoutError, OSError) as failure:
        error = type(failure).__name__
    gaps = sorted(b - a for a, b in pairwise(moments))
    last = moments[-1] if moments else time.perf_counter()
    return RequestRow(
        intended=intended,
        sent=sent,
        prompt_tokens=len(prompt),
        output_tokens=output_tokens,
        chunks=len(moments),
        ttft=moments[0] - begun if moments else None,
        e2e=last - begun,
        itl_p50=_quantile(gaps, 0.5),
        itl_p99=_quantile(gaps, 0.99),
        itl_max=_quantile(gaps, 1.0),
        error=error,
    )


async def _chunks(answer: aiohttp.ClientResponse, moments: list[float]) -> str | None:
    """Note when each chunk came; an error inside a stream that began with 200 is one too."""
    async for line in answer.content:
        if line.startswith(b'data: {"error"'):
            return "error in the stream"
        if line.startswith(b"data: {"):
            moments.append(time.perf_counter())
    return None


def _quantile(ordered: Sequence[float], q: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, int(q * len(ordered)))], 6) if ordered else None

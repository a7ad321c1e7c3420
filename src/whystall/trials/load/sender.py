"""Sends a trace to an OpenAI-compatible server and times every request from its intended moment.

Open loop: requests go out when they should, whether or not earlier ones were answered, so a slow server does not slow
the load down (no coordinated omission). Closed loop: each client waits for its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace, TracebackType

import aiohttp
import msgspec
from aiohttp.http_exceptions import HttpProcessingError

from whystall.emulator.engine.workload import Arrival
from whystall.sources.live.access import Access, tls_context
from whystall.sources.live.clock import Clock

from .exchange import Exchange
from .trace import Trace

_LONGEST_LINE = 2**20
_MAX_OPEN = 20_000  # requests under way at once; above that our own sockets run out
# vLLM's front end closes a connection that was idle for 5 s: one that is nearly as old may close under the next request.
_KEEP_ALIVE_S = 2.0
Sink = Callable[[Exchange], None]


class LoadTarget(msgspec.Struct, frozen=True):
    """Where the load goes: the server's base address, the model's name, how to get in, how long to wait.

    ``natural_stops``: outputs end where the model ends them; else they have the asked length, which two arms can share.
    """

    base: str
    model: str
    access: Access = Access()
    timeout_s: float = 300.0
    natural_stops: bool = False


class _Ask(msgspec.Struct, frozen=True):
    """One request, ready to go out."""

    body: bytes
    prompt_tokens: int
    output_tokens: int


class Sender:
    """An open session with one server. An async context manager. ``clock`` is the server's."""

    def __init__(self, target: LoadTarget, clock: Clock | None = None) -> None:
        self.target = target
        self.clock = clock or Clock()
        self.sent = 0
        self.left_out = 0  # requests that an open loop should have sent above _MAX_OPEN
        self.most_open = 0
        self._open: set[asyncio.Task[None]] = set()
        self._client: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Sender:
        access = self.target.access
        access.check()
        headers = {"Content-Type": "application/json"} | dict(access.headers)
        if access.token:
            headers["Authorization"] = f"Bearer {access.token}"
        self._client = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=0, ssl=tls_context(access), keepalive_timeout=_KEEP_ALIVE_S),
            trace_configs=[_noting_reuse()],
            timeout=aiohttp.ClientTimeout(total=self.target.timeout_s),
            read_bufsize=_LONGEST_LINE,
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.give_up()
        if self._client is not None:
            await self._client.close()

    async def play(self, trace: Trace, sink: Sink) -> float:
        """Send ``trace``, until its end, and return its start on the target's clock.

        ``sink`` gets each request once, when it is over; :meth:`drain` waits for those that are not.
        """
        start = self.clock.now()
        end = start + trace.seconds
        if trace.clients:
            await self._closed(trace, sink, end)
        else:
            await self._at_their_times(trace, sink, start)
        await self.clock.sleep_until(end)
        return start

    async def _at_their_times(self, trace: Trace, sink: Sink, start: float) -> None:
        for index, arrival in enumerate(trace.arrivals):
            ask = self._ask(trace, arrival, index)  # made before its moment, so as not to delay it
            await self.clock.sleep_until(start + arrival.t)
            self._spawn(ask, start + arrival.t, sink)

    async def _closed(self, trace: Trace, sink: Sink, end: float) -> None:
        queue = enumerate(trace.endless())
        for _ in range(trace.clients):
            self._keep(self._one_client(trace, queue, sink, end))

    async def _one_client(self, trace: Trace, queue: Iterator[tuple[int, Arrival]], sink: Sink, end: float) -> None:
        while (now := self.clock.now()) < end:
            index, arrival = next(queue)
            await self._send(self._ask(trace, arrival, index), now, sink)
            await self.clock.sleep(trace.think_s)

    def _spawn(self, ask: _Ask, intended: float, sink: Sink) -> None:
        if len(self._open) >= _MAX_OPEN:
            self.left_out += 1
            return
        self._keep(self._send(ask, intended, sink))

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        self.most_open = max(self.most_open, len(self._open))

    async def drain(self, most_s: float | None = None) -> None:
        """Wait for what is open, for ``most_s`` of the target's time, and give the rest up. None: however long it takes."""
        if self._open:
            await asyncio.wait(self._open, timeout=None if most_s is None else most_s / max(self.clock.speed, 1e-3))
        await self.give_up()

    async def give_up(self) -> None:
        """Go away without the answers that are still awaited."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    # -- one request

    def _ask(self, trace: Trace, arrival: Arrival, index: int) -> _Ask:
        prompt = trace.prompt(arrival, index)
        body = {
            "model": self.target.model,
            "prompt": prompt,
            "max_tokens": arrival.output_tokens,
            "ignore_eos": not self.target.natural_stops,
            "temperature": 0.8,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if arrival.priority:
            body["priority"] = arrival.priority
        return _Ask(msgspec.json.encode(body), len(prompt), arrival.output_tokens)

    async def _send(self, ask: _Ask, intended: float, sink: Sink) -> None:
        self.sent += 1
        sent = self.clock.now()
        stream = _Stream(self.clock)
        error: str | None = None
        cut = True
        try:
            error = await self._post(ask.body, stream)
            # That the server had hung up on an idle connection says nothing of how it serves: on the next, in the end a
            # new one, as each such connection is gone then.
            while stream.went_stale:
                error = await self._post(ask.body, stream)
            cut = False
        finally:
            sink(
                Exchange(
                    intended=intended,
                    sent=sent,
                    ended=self.clock.now(),
                    prompt_tokens=ask.prompt_tokens,
                    output_tokens=stream.tokens(ask.output_tokens, whole=not cut and error is None),
                    chunks=tuple(stream.chunks),
                    error=error,
                    cut=cut,
                )
            )

    async def _post(self, body: bytes, stream: _Stream) -> str | None:
        """Send and read to the end. What goes wrong is data: its short name."""
        assert self._client is not None, "enter the sender first"
        stream.reused = stream.went_stale = False
        url = f"{self.target.base}/v1/completions"
        try:
            async with self._client.post(url, data=body, trace_request_ctx=stream) as answer:
                if answer.status != 200:
                    return f"http {answer.status}"
                return await stream.read(answer)
        except (aiohttp.ClientError, HttpProcessingError, TimeoutError, OSError, ValueError) as failure:
            hung_up = isinstance(failure, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError)
            stream.went_stale = stream.reused and hung_up and not stream.chunks
            return type(failure).__name__


def _noting_reuse() -> aiohttp.TraceConfig:
    """Tells each request's stream whether it went out on a connection that was there before."""

    async def note(_client: aiohttp.ClientSession, context: SimpleNamespace, _params: object) -> None:
        context.trace_request_ctx.reused = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(note)
    return config


class _Usage(msgspec.Struct):
    completion_tokens: int = 0


class _LastEvent(msgspec.Struct):
    """What the last event of a stream may say: how many tokens there were, in an event without a choice."""

    choices: list[msgspec.Raw] = []
    usage: _Usage | None = None


class _Stream:
    """When each event of an answer came, and the last one."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.chunks: list[float] = []
        self.reused = False  # it went out on a connection that was there before,
        self.went_stale = False  # on which the server had hung up
        self._usage: _Usage | None = None

    async def read(self, answer: aiohttp.ClientResponse) -> str | None:
        """Note when each event came; an error inside a stream that began with 200 is one too."""
        last, now, chunks = b"", self.clock.now, self.chunks
        async for line in answer.content:
            if line.startswith(b'data: {"error"'):
                return "error in the stream"
            if line.startswith(b"data: {"):
                chunks.append(now())
                last = line
        self._read_usage(last)
        return None

    def _read_usage(self, line: bytes) -> None:
        try:
            event = msgspec.json.decode(line[len(b"data: ") :], type=_LastEvent)
        except msgspec.MsgspecError:
            return
        if event.usage is not None and not event.choices:
            self._usage = event.usage
            self.chunks.pop()  # it brought no token

    def tokens(self, asked: int, *, whole: bool) -> int:
        """Tokens of the answer: as its usage says, else as asked for where it came whole, else its pieces."""
        if self._usage is not None:
            return self._usage.completion_tokens
        return asked if whole else len(self.chunks)

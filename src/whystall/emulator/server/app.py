"""The HTTP face: OpenAI's endpoints and vLLM's own, over a deployment that runs on the clock."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

from aiohttp import web

from whystall.emulator.engine.content import TokenContent
from whystall.emulator.engine.request import Request

from .answers import Answer, text_seed
from .clock import Clock
from .dcgm_page import dcgm_page
from .deployment import Deployment, Replica
from .openai import MAX_BODY_BYTES, Ask, Limits, Refusal, busy, parse
from .profiler import Profiler
from .spans import SpanExporter
from .tokens import detokenized_id, generated

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LEAST_SLEEP_S = 0.002  # at high speed the engine has more events than are worth waking for
_LONGEST_SLEEP_S = 0.25
_CLIENT_GONE = 499  # as nginx calls it
_UNCOUNTED = {"/metrics", "/health", "/load", "/ping", "/version", "/server_info"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Face:
    """One emulated server on HTTP."""

    def __init__(
        self,
        deployment: Deployment,
        clock: Clock,
        *,
        limits: Limits,
        spans: SpanExporter | None = None,
        profiler: Profiler | None = None,
        seed: int = 1,
    ) -> None:
        self.deployment = deployment
        self.clock = clock
        self.limits = limits
        self.spans = spans
        self.profiler = profiler
        self.random = random.Random(seed)
        self.in_flight = 0
        self._numbers = count(1)
        self._step = asyncio.Event()  # set whenever results came
        self._wake = asyncio.Event()  # set whenever somebody submitted
        deployment.on_end = self._ended

    def app(self) -> web.Application:
        """The aiohttp application; its clock runs from start-up to clean-up."""
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[self._count])
        app.router.add_post("/v1/completions", self._completions)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/health", self._health)
        app.router.add_get("/ping", self._health)
        app.router.add_get("/version", self._version)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/load", self._load)
        app.router.add_get("/server_info", self._server_info)
        app.router.add_get("/dcgm/metrics", self._dcgm)
        if self.profiler is not None:
            app.router.add_post("/start_profile", self._start_profile)
            app.router.add_post("/stop_profile", self._stop_profile)
        app.cleanup_ctx.append(self._running)
        return app

    # -- the clock

    async def _running(self, _app: web.Application):  # type: ignore[no-untyped-def]  # noqa: ANN202
        task = asyncio.create_task(self._drive())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        if self.spans is not None:
            await self.spans.close()

    async def _drive(self) -> None:
        """Advance the deployment with the clock, and wake those who wait for tokens."""
        deployment, clock = self.deployment, self.clock
        while True:
            deployment.advance(clock.now())
            step, self._step = self._step, asyncio.Event()
            step.set()
            if self.spans is not None:
                await self.spans.flush(clock.now())
            ahead = clock.wall(deployment.next_event - clock.now())
            pause = min(max(ahead, _LEAST_SLEEP_S), _LONGEST_SLEEP_S)
            self._wake.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), pause)
            if pause > _LEAST_SLEEP_S:
                await asyncio.sleep(0)

    # -- middleware

    @web.middleware
    async def _count(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Count the answer as the server's instrumentation does, and write its access line."""
        if request.method == "POST":
            await asyncio.sleep(self.clock.wall(self.deployment.network_s))  # the server has it only now
        begun = self.clock.now()
        status = 500
        try:
            response = await handler(request)
            status = response.status
        except Refusal as refusal:
            status = refusal.status
            response = web.json_response(refusal.body, status=status)
        except web.HTTPException as error:
            status = error.status
            response = web.json_response({"detail": error.reason}, status=status)
        except ConnectionResetError:  # its client is gone
            status = _CLIENT_GONE
            response = web.Response(status=status)
        except asyncio.CancelledError:  # in the middle of an answer that had begun well
            status = 200
            raise
        finally:
            if request.path not in _UNCOUNTED:
                seconds = self.clock.now() - begun
                size = float(request.content_length or 0)
                resource = request.match_info.route.resource
                handler_name = "none" if resource is None else resource.canonical  # never what a client made up
                self.deployment.http.add(handler_name, request.method, f"{status // 100}xx", seconds, size)
        self.deployment.log.access(request.method, request.path, status, response.reason or "")
        return response

    # -- completions

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, chat=False)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._complete(request, chat=True)

    async def _complete(self, http: web.Request, *, chat: bool) -> web.StreamResponse:
        self._require_life()
        ask = parse(await http.read(), self.limits, chat=chat, rng=self.random)
        reason = self.deployment.refusal()
        if reason:
            raise busy(reason)
        replica = self.deployment.choose()
        requests = [self._request(ask, prompt) for prompt in ask.prompts]
        name = http.headers.get("X-Request-Id", uuid.uuid4().hex)[:100]
        answer = Answer(
            f"{'chatcmpl' if chat else 'cmpl'}-{name}", int(self.clock.now()), self.limits.model, ask, requests
        )
        self.in_flight += 1
        try:
            for request in requests:
                request.tag = (answer.id, http.headers.get("traceparent", ""))
                self.deployment.submit(request, replica)
            self._wake.set()
            if ask.stream:
                return await self._stream(http, answer, replica)
            await self._until_done(answer, replica)
            return web.json_response(answer.whole(), headers=self.clock.headers())
        finally:
            self.in_flight -= 1
            for request in requests:
                replica.engine.abort(request)

    def _request(self, ask: Ask, prompt: list[int]) -> Request:
        number = next(self._numbers)
        seed = text_seed(ask, prompt, self.limits.model, number)
        outputs = [detokenized_id(generated(seed, place)) for place in range(ask.output_tokens)]
        content = TokenContent(prompt + outputs, ask.salt)
        return Request(
            number,
            len(prompt),
            ask.output_tokens,
            content,
            arrival=self.clock.now(),
            max_tokens=ask.max_tokens,
            priority=ask.priority,
        )

    async def _stream(self, http: web.Request, answer: Answer, replica: Replica) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream; charset=utf-8", **self.clock.headers()}
        )
        await response.prepare(http)
        sent = [0] * len(answer.requests)
        opened = False
        held = b""
        while True:
            step = self._step
            out = b""
            for index, request in enumerate(answer.requests):
                ready = replica.engine.scheduler.outputs(request) if request.queued == request.queued else 0
                out += answer.chunk(index, sent[index], ready)
                sent[index] = ready
            if out:
                held += out if opened else answer.opening() + out
                opened = True
            if len(held) > self.deployment.buffer_bytes:
                await response.write(held)
                held = b""
            if self._done(answer):
                await response.write(held + answer.closing())
                await response.write_eof()
                return response
            self._require_life()
            await step.wait()

    async def _until_done(self, answer: Answer, replica: Replica) -> None:
        while not self._done(answer):
            self._require_life()
            await self._step.wait()

    def _done(self, answer: Answer) -> bool:
        return all(r.reason for r in answer.requests)

    def _require_life(self) -> None:
        if not self.deployment.alive:
            message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
            raise Refusal(500, message, "InternalServerError")

    def _ended(self, request: Request, _t: float) -> None:
        if self.spans is not None and request.reason in ("stop", "length"):
            self.spans.add(request)

    # -- what is asked of the server

    async def _metrics(self, _request: web.Request) -> web.Response:
        self.deployment.advance(self.clock.now())
        headers = {"Content-Type": _METRICS_TYPE, **self.clock.headers()}
        return web.Response(text=self.deployment.page(), headers=headers)

    async def _dcgm(self, _request: web.Request) -> web.Response:
        text = dcgm_page(self.deployment, self.clock.now())
        return web.Response(text=text, headers={"Content-Type": _METRICS_TYPE, **self.clock.headers()})

    async def _health(self, _request: web.Request) -> web.Response:
        serving = self.deployment.alive and self.clock.now() >= self.deployment.ready_at
        return web.Response(status=200 if serving else 503, headers=self.clock.headers())

    async def _version(self, _request: web.Request) -> web.Response:
        return web.json_response({"version": f"{self.deployment.serving.version}.0"}, headers=self.clock.headers())

    async def _models(self, _request: web.Request) -> web.Response:
        model = {
            "id": self.limits.model,
            "object": "model",
            "created": int(self.deployment.start),
            "owned_by": "vllm",
            "root": self.limits.model,
            "parent": None,
            "max_model_len": self.limits.max_model_len,
        }
        return web.json_response({"object": "list", "data": [model]}, headers=self.clock.headers())

    async def _load(self, _request: web.Request) -> web.Response:
        return web.json_response({"server_load": self.in_flight}, headers=self.clock.headers())

    async def _server_info(self, _request: web.Request) -> web.Response:
        options, profile = self.deployment.serving.options, self.deployment.serving.profile
        text = (
            f"model='{profile.model}', max_seq_len={options.max_model_len}, dtype=torch.bfloat16, "
            f"tensor_parallel_size={profile.tensor_parallel}, pipeline_parallel_size=1, data_parallel_size=1, "
            f"enforce_eager={not profile.max_graph_tokens}, enable_prefix_caching={options.enable_prefix_caching}, "
            f"enable_chunked_prefill={options.enable_chunked_prefill}"
        )
        return web.json_response({"vllm_config": text}, headers=self.clock.headers())

    # -- profiling

    async def _start_profile(self, _request: web.Request) -> web.Response:
        assert self.profiler is not None
        if not self.profiler.start(self.deployment, self.clock.now()):
            raise Refusal(409, "A profiling session is already active.", "Conflict")
        return web.Response(headers=self.clock.headers())

    async def _stop_profile(self, _request: web.Request) -> web.Response:
        assert self.profiler is not None
        stall = self.profiler.stop(self.deployment, self.clock.now())
        await asyncio.sleep(self.clock.wall(stall))
        return web.Response(headers=self.clock.headers())

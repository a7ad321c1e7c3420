"""A served model without its HTTP: replicas, the front end before them, the load, and what happens when.

Everything runs on emulated time, so tests and the demo drive it as fast as they like; the HTTP face drives it by its
clock. Actions (faults, stalls) are put on the timeline and take effect at their moment.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from math import inf
from typing import IO

import msgspec

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.request import Request
from whystall.emulator.engine.workload import RETRY_S

from .frontend import FrontEnd
from .gpu import GpuGauge
from .http_meters import HttpMeters
from .log import INTERVAL_S, PROFILED_BLOCK, LogWriter, loading_seconds
from .media import Media
from .meters import Meters
from .page import Labels, PageTemplate, Value
from .traffic import OWN_ID, Traffic, TrafficPlan

_PROCESS_S = 2.0  # until a new process writes its first line
_REFUSAL_S = 0.002  # until an error is answered
Action = Callable[["Deployment", float], None]


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """How the server is started. ``flags`` are what the operator set, as the log repeats them."""

    options: EngineOptions
    profile: StepProfile
    model_name: str = "m"
    version: str = "0.32"
    replicas: int = 1
    seed: int = 1
    traffic: TrafficPlan = TrafficPlan()
    flags: dict[str, object] = {}

    @property
    def left_out_bytes(self) -> float:
        """KV memory of a GPU that --num-gpu-blocks-override leaves unused."""
        if "num_gpu_blocks_override" not in self.flags:
            return 0.0
        kept = self.options.num_gpu_blocks * self.options.block_size
        return max(self.profile.kv_blocks * PROFILED_BLOCK - kept, 0) * self.profile.kv_token_bytes


class Replica:
    """One engine, its meters, and its device."""

    def __init__(self, serving: Serving, template: PageTemplate, start: float) -> None:
        self.engine = Engine(serving.options.check(), serving.profile, start=start)
        self.meters = Meters(self.engine, template, start)
        self.gpu = GpuGauge(start, serving.profile)
        self.gpu.state.memory_extra_bytes = -serving.left_out_bytes
        self.computed = 0.0  # tokens that were computed, prompts and outputs

    @property
    def ranks(self) -> range:
        """Its GPUs, one a rank."""
        return range(self.engine.clock.profile.tensor_parallel)

    def load(self) -> float:
        """What the balancer compares: vllm.md section 5.4."""
        scheduler = self.engine.scheduler
        waiting = len(scheduler.waiting)
        pressure = 6 * waiting * max(0.0, scheduler.pool.usage_ratio - 0.5)
        return max(self.engine.unfinished, waiting + len(scheduler.running)) + pressure


class Deployment:
    """The whole server. ``alive`` False: the engine is dead and health is 503; ``ready_at``: when it starts to serve."""

    def __init__(self, serving: Serving, *, start: float, log: IO[str] | None = None) -> None:
        self.serving = serving
        self.start = self.now = start
        self.template = PageTemplate(serving.version, serving.options.max_model_len)
        self.replicas = [Replica(serving, self.template, start) for _ in range(serving.replicas)]
        self.front = FrontEnd(start)
        self.media: Media | None = None  # that requests bring
        self.traffic = Traffic(serving.traffic, self._own_request, start=start, seed=serving.seed)
        self.log = LogWriter(log, "CPU" if serving.profile.gpu == "cpu" else "GPU")
        self.alive = True
        self.hung = False  # steps no longer come back
        self.ready_at = start
        self.leaked_bytes = 0.0  # of the API process
        self.network_s = 0.0  # that a request is under way before the server has it
        self.buffer_bytes = 0  # that something before the server collects before it passes a stream on
        self.weights = [1.0] * serving.replicas  # the balancer's preference; equal ones look at the load
        self.refused: dict[str, int] = {}
        self.http = HttpMeters(self.template)
        self.on_end: Callable[[Request, float], None] | None = None
        self.on_unserved: Callable[[Request, float, str], None] | None = None  # of its own load: time, client's error
        self._timeline: list[tuple[float, int, Action]] = []
        self._order = count()
        for replica in self.replicas:
            replica.engine.on_finish = replica.engine.on_refused = self._ended
        self._starts(start, start, start, loading_seconds(serving.profile))
        self.at(start + INTERVAL_S, _statistics)

    # -- time

    def at(self, t: float, action: Action) -> None:
        """Let ``action`` happen at emulated time ``t``."""
        heapq.heappush(self._timeline, (t, next(self._order), action))

    @property
    def next_event(self) -> float:
        engines = min((r.engine.next_event for r in self.replicas), default=inf) if self._runs else inf
        planned = self._timeline[0][0] if self._timeline else inf
        return min(engines, planned, self.traffic.next_time)

    @property
    def _runs(self) -> bool:
        return self.alive and not self.hung

    def advance(self, until: float) -> None:
        """Let everything happen up to ``until``, in order."""
        while self._timeline and self._timeline[0][0] <= until:
            t, _, action = heapq.heappop(self._timeline)
            self._run(t)
            action(self, t)
        self._run(until)

    def _run(self, until: float) -> None:
        while self.traffic.next_time <= until:
            moment = min(max(self.traffic.next_time, self.now) + 0.02, until)
            self.traffic.feed(moment)
            self._engines(moment)
        self.traffic.feed(until)
        self._engines(until)

    def _engines(self, until: float) -> None:
        if self._runs:
            for replica in self.replicas:
                before = len(replica.engine.journal.generated)
                replica.engine.advance(until)
                self.front.give(sum(replica.engine.journal.generated[before:]))
        self.front.idle(until)
        self.now = max(self.now, until)

    def hold_until(self, t: float) -> None:
        """Serve nothing before ``t``: the weights are not there yet."""
        for replica in self.replicas:
            replica.engine.now = replica.engine.device_free = max(replica.engine.now, t)

    def restart(self, serving: Serving, t: float, down_s: float = 30.0, loading_s: float | None = None) -> None:
        """Stop, and come back ``down_s`` later as ``serving`` says: requests are lost, counters start anew.

        ``loading_s`` of that time are spent on reading the weights.
        """
        lost = self._inside()
        self.serving = serving
        self.start = t + down_s
        self.template = PageTemplate(serving.version, serving.options.max_model_len)
        self.replicas = [Replica(serving, self.template, t) for _ in range(serving.replicas)]
        self.http = HttpMeters(self.template)
        self.refused = {}
        for replica in self.replicas:
            replica.engine.on_finish = replica.engine.on_refused = self._ended
        self.ready_at = self.start
        self.hold_until(self.start)
        for request in lost:  # their clients ask again once somebody listens: the new engines
            self._unserved(request, t, "ServerDisconnectedError")
            self.traffic.answered(request, self.start)
        seconds = loading_seconds(serving.profile) if loading_s is None else loading_s
        begun = t + min(_PROCESS_S, down_s / 4)
        self._starts(begun, min(begun + seconds, self.ready_at - down_s / 4), self.ready_at, seconds)

    def _starts(self, begun: float, loaded: float, ready: float, loading_s: float) -> None:
        """Write the lines of a start as it goes on, as long as it is not overtaken by another one."""
        serving = self.serving
        options, profile, flags = serving.options, serving.profile, serving.flags

        def when(t: float, write: Callable[[float], None]) -> None:
            if t <= self.now:
                write(t)
            else:
                self.at(t, lambda d, now: write(now) if d.serving is serving and d.ready_at == ready else None)

        when(begun, lambda now: self.log.starting(now, f"{serving.version}.0", options, profile, flags))
        when(loaded, lambda now: self.log.loaded(now, profile, loading_s))
        when(ready, lambda now: self.log.started(now, options, profile, flags))

    def die(self, t: float, error: str = "http 500") -> None:
        """The engine is gone: who was inside gets ``error``, everybody after an HTTP 500 as long as somebody listens."""
        self.alive = False
        for request in self._inside():
            self._unserved(request, t, error)

    # -- requests

    def _inside(self) -> list[Request]:
        engines = [replica.engine for replica in self.replicas]
        inside = [r for e in engines for r in [*e.scheduler.running.values(), *e.scheduler.waiting]]
        return inside + [request for engine in engines for request in engine.at_the_front() if not request.reason]

    def choose(self) -> Replica:
        """The replica for the next request: the least loaded, as far as the balancer's weights let it."""
        pairs = zip(self.replicas, self.weights, strict=True)
        return min(((r.load() + 1) / w, i, r) for i, (r, w) in enumerate(pairs) if w > 0)[2]

    def refusal(self) -> str:
        """Empty, or the limit that refuses a request now; a refusal is counted."""
        reason = self.choose().engine.admits()
        if reason:
            self.refused[reason] = self.refused.get(reason, 0) + 1
        return reason

    def submit(self, request: Request, replica: Replica) -> None:
        """``request`` goes to ``replica`` through the front end."""
        media_s = self.media.prepare(request, replica.meters) if self.media is not None else 0.0
        delay = self.front.take(request.prompt_tokens, request.arrival, media_s)
        replica.engine.submit(request, delay_s=delay)

    def _own_request(self, request: Request) -> None:
        room = self.serving.options.max_model_len - 1
        request.prompt_tokens = request.tokens = min(request.prompt_tokens, room)
        if request.arrival < self.ready_at:  # nobody listens yet
            self._unserved(request, request.arrival, "ClientConnectorError")
            self.traffic.answered(request, self.ready_at)
            return
        if not self.alive:  # its clients give up
            self.served("/v1/completions", "POST", "5xx", _REFUSAL_S)
            self._unserved(request, request.arrival + _REFUSAL_S, "http 500")
            return
        if self.refusal():
            self.served("/v1/completions", "POST", "5xx", _REFUSAL_S)
            self._unserved(request, request.arrival + _REFUSAL_S, "http 503")
            # A client that came back at once would be refused at once, without end.
            self.at(request.arrival + RETRY_S, lambda d, now: d.traffic.answered(request, now))
            return
        self.submit(request, self.choose())

    def _unserved(self, request: Request, t: float, error: str) -> None:
        if self.on_unserved is not None and request.id >= OWN_ID:
            self.on_unserved(request, t, error)

    def _ended(self, request: Request, t: float) -> None:
        if request.id >= OWN_ID:
            self.served("/v1/completions", "POST", "2xx", t - request.arrival)
        self.traffic.answered(request, t)
        if self.on_end is not None:
            self.on_end(request, t)

    def served(self, handler: str, method: str, status: str, seconds: float) -> None:
        """An HTTP answer went out (for the page's ``http_*`` series)."""
        self.http.add(handler, method, status, seconds)

    # -- what it shows

    def page(self) -> str:
        """The ``/metrics`` page as of now."""
        for replica in self.replicas:
            replica.meters.absorb()
        engines: list[Value] = [self._value(replica) for replica in self.replicas]
        return self.template.render(engines, self._labels(), self.http.labels())

    def _labels(self) -> dict[str, str]:
        options = self.serving.options
        blocks = self.replicas[0].engine.scheduler.pool.num_blocks
        tokens = blocks * options.block_size
        names = {"gpu_memory_utilization": "gpu_memory_utilization", "kv_cache_dtype": "cache_dtype"}
        told = {label: str(self.serving.flags[flag]) for flag, label in names.items() if flag in self.serving.flags}
        return told | {
            "model_name": self.serving.model_name,
            "num_gpu_blocks": str(blocks),
            "block_size": str(options.block_size),
            "kv_cache_size_tokens": str(tokens),
            "kv_cache_max_concurrency": str(tokens / options.max_model_len),
            "enable_prefix_caching": str(options.enable_prefix_caching),
            "kv_cache_memory_bytes": "None",
            "num_gpu_blocks_override": "None",
        }

    def _value(self, replica: Replica) -> Value:
        def value(family: str, part: str, labels: Labels) -> float | None:
            if family.startswith("http_"):
                return self.start if part == "created" else self.http.value(family, part, labels)
            if family == "vllm:admission_rejections_total":
                return float(self.refused.get(labels["reason"], 0))
            if family == "process_cpu_seconds_total":
                return round(20.0 + self.front.cpu_s, 2)
            if family == "process_resident_memory_bytes":
                return 6.6e8 + self.leaked_bytes
            if family == "process_start_time_seconds":
                return round(self.start - 60.0, 2)
            return replica.meters.value(family, part, labels)

        return value


def _statistics(deployment: Deployment, t: float) -> None:
    """Write each engine's line, and plan the next; a process that starts or is gone writes none."""
    serves = deployment.alive and t >= deployment.ready_at
    for index, replica in enumerate(deployment.replicas if serves else ()):
        meters = replica.meters
        meters.absorb()
        counters = meters.counters
        queries, hits = replica.engine.scheduler.prefix_queries, replica.engine.scheduler.prefix_hits
        deployment.log.statistics(
            t,
            index,
            meters,
            counters.get(("vllm:prompt_tokens_by_source_total", "local_compute"), 0.0),
            counters.get(("vllm:generation_tokens_total", ""), 0.0),
            counters.get(("vllm:num_preemptions_total", ""), 0.0),
            hits / queries if queries else 0.0,
        )
    deployment.at(t + INTERVAL_S, _statistics)

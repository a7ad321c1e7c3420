"""An arm without HTTP: an emulated engine in virtual time, thousands of times faster than a server."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from whystall.emulator.engine.content import Content, HashedContent, OwnContent
from whystall.emulator.engine.engine import Engine, with_captures
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.request import Request
from whystall.emulator.engine.workload import Arrival
from whystall.model.trial import TrialArm

from .blocks import BlockResult
from .load.trace import Trace

Drift = Callable[[float], float]
_LOOK_S = 1.0  # how often drift is applied, and how finely the end of a block is found
_TIMED = tuple(name for name in StepProfile.__struct_fields__ if name.endswith("_s"))


class VirtualTime:
    """The time that two arms share: while one is under load, the other's goes by too."""

    def __init__(self, start: float = 1_790_000_000.0) -> None:
        self.now = start


class EmulatedArm:
    """An engine with ``options`` on ``profile``.

    ``drift`` gives, for a moment in unix seconds, the factor by which all of the engine's times are longer: the noise
    and the slow changes that real machines have. With ``restarts`` each :meth:`prepare` brings up a fresh engine and
    takes ``restart_s``.
    """

    def __init__(
        self,
        options: EngineOptions,
        profile: StepProfile,
        time: VirtualTime,
        *,
        label: TrialArm | None = None,
        drift: Drift | None = None,
        restarts: bool = False,
        restart_s: float = 60.0,
    ) -> None:
        self.label = label or TrialArm("emulator")
        self.restarts = restarts
        self.time = time
        self._options = options.check()
        self._profile = with_captures(profile, options)
        self._drift = drift
        self._restart_s = restart_s
        self._engine = self._fresh()

    @property
    def now(self) -> float:
        return self.time.now

    async def prepare(self) -> None:
        if self.restarts:
            self.time.now += self._restart_s
            self._engine = self._fresh()

    async def block(self, trace: Trace, drain_s: float) -> BlockResult:
        engine, start = self._engine, self.time.now
        engine.advance(start)
        _forget(engine)
        play = _Play(engine, trace, start)
        play.begin()
        self._run(start + trace.seconds)
        limit = start + trace.seconds + drain_s
        while play.open and self.time.now < limit:
            self._run(min(self.time.now + _LOOK_S, limit))
        result = play.result(self.time.now)
        while engine.in_flight:  # steps for requests that were given up
            self._run(self.time.now + _LOOK_S)
        return result

    def _fresh(self) -> Engine:
        return Engine(self._options, self._profile, start=self.time.now)

    def _run(self, until: float) -> None:
        """Let the engine's time go on, as slowly as the drift makes it."""
        while self.time.now < until:
            if self._drift is not None:
                factor = max(self._drift(self.time.now), 1e-3)
                self._engine.clock.set(self._profile.scaled(**dict.fromkeys(_TIMED, factor)))
            self.time.now = min(self.time.now + _LOOK_S, until) if self._drift is not None else until
            self._engine.advance(self.time.now)


class _Play:
    """The requests of one block, and what became of them."""

    def __init__(self, engine: Engine, trace: Trace, start: float) -> None:
        self.engine = engine
        self.trace = trace
        self.start = start
        self.sent: list[Request] = []
        self.open = 0
        self.refused: set[int] = set()
        self._queue = enumerate(trace.endless())
        journal = engine.journal
        self._cached, self._computed = journal.cached_tokens, journal.computed_tokens
        engine.on_finish, engine.on_refused = self._finished, self._was_refused

    def begin(self) -> None:
        if self.trace.clients:
            for _ in range(self.trace.clients):
                self._next(self.start)
            return
        for arrival in self.trace.arrivals:
            self._submit(arrival, self.start + arrival.t)

    def _next(self, t: float) -> None:
        if t < self.start + self.trace.seconds:
            self._submit(next(self._queue)[1], t)

    def _submit(self, arrival: Arrival, t: float) -> None:
        number = len(self.sent) + 1
        content = _content(arrival, self.trace.salt)
        request = Request(
            number, arrival.prompt_tokens, arrival.output_tokens, content, arrival=t, priority=arrival.priority
        )
        self.sent.append(request)
        if arrival.prompt_tokens + arrival.output_tokens > self.engine.options.max_model_len:
            request.reason = "too long"  # the server answers 400
            self.refused.add(number)
            return
        self.open += 1
        self.engine.submit(request)

    def _finished(self, request: Request, t: float) -> None:
        self.open -= 1
        if self.trace.clients:
            self._next(t + self.trace.think_s)

    def _was_refused(self, request: Request, t: float) -> None:
        self.open -= 1
        self.refused.add(request.id)
        if self.trace.clients:
            self._next(t + max(self.trace.think_s, _LOOK_S))

    def result(self, ended: float) -> BlockResult:
        """What the requests saw; those that are still open are given up at ``ended``."""
        self.engine.on_finish = self.engine.on_refused = lambda _request, _t: None
        back, journal = self.engine.clock.profile.back_s, self.engine.journal
        cut = np.array([not r.reason for r in self.sent], dtype=bool)
        for request in self.sent:
            self.engine.abort(request)
        arrival = np.array([r.arrival for r in self.sent])
        first = np.array([r.first_token for r in self.sent]) + back - arrival
        last = np.array([r.finished for r in self.sent]) + back - arrival
        outputs = np.array([r.output_tokens for r in self.sent], dtype=np.float64)
        waited = ended - arrival
        gaps, weights = journal.gaps()
        ends = journal.columns("end")
        return BlockResult(
            started=self.start,
            seconds=self.trace.seconds,
            intended_s=arrival - self.start,
            ttft_s=np.where(cut & np.isnan(first), waited, first),
            e2e_s=np.where(cut, waited, last),
            output_tokens=outputs,
            failed=np.array([r.id in self.refused for r in self.sent], dtype=bool),
            cut=cut,
            itl_s=gaps,
            itl_weights=weights,
            tokens_t=ends - self.start,
            tokens_n=journal.columns("generated"),
            mean_gap_s=(last - first) / np.maximum(outputs - 1, 1),
            hit_ratio=self._hit_ratio(),
            error=next((r.reason for r in self.sent if r.id in self.refused), ""),
            drained_s=max(ended - self.start - self.trace.seconds, 0.0),
        )

    def _hit_ratio(self) -> float | None:
        asked = self.engine.journal.computed_tokens - self._computed
        return (self.engine.journal.cached_tokens - self._cached) / asked if asked else None


def _content(arrival: Arrival, salt: int) -> Content:
    if arrival.hash_ids:
        return HashedContent([hash((salt, number)) for number in arrival.hash_ids])
    return OwnContent((salt, arrival.prefix) if arrival.prefix else None, arrival.prefix_tokens)


def _forget(engine: Engine) -> None:
    """Drop the rows of an engine in which nothing is under way: a block looks at its own only."""
    journal = engine.journal
    journal.dropped += len(journal.end)
    for column in ("end", "gap", "regular", "generated", "prompts", "running", "waiting", "free_blocks"):
        getattr(journal, column).clear()
    for column in ("odd_t", "odd_gap", "first", "finished", "rejected", "preemptions"):
        getattr(journal, column).clear()

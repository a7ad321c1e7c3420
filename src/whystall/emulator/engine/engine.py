"""One engine on its clock: arrivals, steps, results. Everything between two calls of ``advance`` is deterministic."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from math import inf

import msgspec

from .batch import Batch, Outcome
from .coast import coast
from .journal import Journal
from .options import EngineOptions
from .profile import StepClock, StepProfile
from .request import Request
from .scheduler import Scheduler

_RETRY_S = 0.02  # how often a face looks again at requests that wait for something else than a step
OnFinish = Callable[[Request, float], None]


def with_captures(profile: StepProfile, options: EngineOptions) -> StepProfile:
    """The profile as these options leave it: graphs are captured up to twice the seats (vllm.md section 5.5)."""
    largest = min(profile.max_graph_tokens, 2 * options.max_num_seqs, options.max_num_batched_tokens)
    return msgspec.structs.replace(profile, max_graph_tokens=largest)


def _nobody(_request: Request, _now: float) -> None:
    """For runs in which nothing hangs on an end."""


class Engine:
    """A front end, a scheduler and a GPU. Times are seconds; the clock starts at ``start``.

    ``on_finish`` is called with each request that ended and the time at which its client knows.
    Admission control is at the front end: :meth:`admits` before :meth:`submit`.
    """

    def __init__(
        self, options: EngineOptions, profile: StepProfile, *, start: float = 0.0, on_finish: OnFinish = _nobody
    ) -> None:
        self.options = options
        self.scheduler = Scheduler(options)
        self.clock = StepClock(with_captures(profile, options), options.async_scheduling)
        self.journal = Journal()
        self.now = start
        self.on_finish = on_finish
        self.on_refused: OnFinish = _nobody
        self.on_submit: list[Callable[[Request], None]] = []  # what is done to each request before it is queued
        self.limited = (options.max_num_queued_reqs, options.max_num_queued_tokens) != (None, None)
        self.unfinished = 0
        self.prefilling_tokens = 0
        self.pause = 0.0  # seconds that the next step takes on top, once: a stall
        self.on_result: Callable[[Batch, Outcome, float], None] | None = None
        self.depth = 2 if options.async_scheduling else 1
        self.in_flight: deque[tuple[Batch, float]] = deque()
        self.device_free = start
        self._arrivals: list[tuple[float, int, Request]] = []
        self._arrived = 0
        self.coasting = True  # skip over runs of equal steps; off where each result is asked for
        self._starved = False  # nothing could be scheduled until the next result comes
        self.last_end = start

    # -- requests

    def admits(self) -> str:
        """Empty when a new request may come, else the name of the limit that refuses it (HTTP 503)."""
        return self._refusal(self.unfinished + len(self._arrivals))

    def _refusal(self, unfinished: int) -> str:
        options = self.options
        if options.max_num_queued_reqs is not None and unfinished + 1 > options.max_num_queued_reqs:
            return "max_num_queued_reqs"
        if options.max_num_queued_tokens is not None and self.prefilling_tokens >= options.max_num_queued_tokens:
            return "max_num_queued_tokens"
        return ""

    def submit(self, request: Request, *, delay_s: float = 0.0) -> None:
        """``request`` arrives at the front end at its ``arrival``; the engine sees it after the front end's time.

        ``delay_s`` comes on top of that: a front end that is busy with others.

        An arrival in the future may be refused when it comes: ``on_refused`` is told.
        """
        for prepare in self.on_submit:
            prepare(request)
        profile = self.clock.profile
        ready = request.arrival + profile.front_s + profile.front_token_s * request.prompt_tokens + delay_s
        self._arrived += 1
        heapq.heappush(self._arrivals, (ready, self._arrived, request))

    def abort(self, request: Request) -> None:
        """The client of ``request`` went away."""
        if request.reason:
            return
        request.reason = "abort"
        if request.queued != request.queued:
            return  # still at the front end
        self.unfinished -= 1
        if request.first_token != request.first_token:
            self.prefilling_tokens -= request.prompt_tokens
        self.scheduler.abort(request)
        self._starved = False

    def at_the_front(self) -> list[Request]:
        """Requests that have been submitted and that the engine has not seen yet."""
        return [request for _, _, request in self._arrivals]

    # -- time

    @property
    def next_event(self) -> float:
        """When something happens next if nobody submits anything; inf when the engine is idle."""
        if self.in_flight:
            return self.in_flight[0][1]
        if self.scheduler.running or self.scheduler.waiting:
            return max(self.now, min(self.now + _RETRY_S, self.next_arrival))
        return max(self.now, self._arrivals[0][0]) if self._arrivals else inf

    @property
    def next_arrival(self) -> float:
        """When the engine will see the next request that has been submitted; inf where there is none."""
        return self._arrivals[0][0] if self._arrivals else inf

    def advance(self, until: float) -> None:
        """Let everything happen that happens up to ``until``."""
        scheduler = self.scheduler
        in_flight = self.in_flight
        while True:
            if self.now > until:
                return
            if len(in_flight) < self.depth and not self._starved:
                if not in_flight and not self._wake(until):
                    return
                self._start()
                if not in_flight and not self._idle(until):
                    return
                continue
            if (
                self.coasting
                and not (in_flight[-1][0].chunks or in_flight[0][0].chunks or self.pause)
                and scheduler.calm
            ):
                coast(self, until)
            batch, end = in_flight[0]
            if end < self.now:
                end = self.now
            if end > until:
                return
            in_flight.popleft()
            self.now = end
            self._starved = False
            self._result(batch, scheduler.update(batch), end)

    def _wake(self, until: float) -> bool:
        """Take what has arrived; where there is no work, wait for the next arrival. False when that is too late."""
        self._take_arrivals()
        if self.scheduler.running or self.scheduler.waiting:
            return True
        if not self._arrivals or self._arrivals[0][0] > until:
            self.now = max(self.now, until) if until < inf else self.now
            return False
        self.now = max(self.now, self._arrivals[0][0])
        self._take_arrivals()
        return True

    def _idle(self, until: float) -> bool:
        """Requests wait, and none of them can come: time goes on to the next arrival. False when that is too late."""
        if self.next_arrival > until:
            self.now = max(self.now, until) if until < inf else self.now
            return False
        self.now = max(self.now, self.next_arrival)
        return True

    def _take_arrivals(self) -> None:
        arrivals = self._arrivals
        while arrivals and arrivals[0][0] <= self.now:
            request = heapq.heappop(arrivals)[2]
            if request.reason:
                continue
            refusal = self._refusal(self.unfinished) if self.limited else ""
            if refusal:
                request.reason = refusal
                self.journal.rejected.append(request.arrival)
                self.on_refused(request, request.arrival)
                continue
            self.unfinished += 1
            self.prefilling_tokens += request.prompt_tokens
            request.queued = self.now
            self.scheduler.add(request)

    def _start(self) -> None:
        """Schedule a step at the present time; it runs as soon as the device is free."""
        if self._arrivals and self._arrivals[0][0] <= self.now:
            self._take_arrivals()
        batch = self.scheduler.schedule()
        if not batch.tokens:
            self._starved = bool(self.in_flight)
            return
        for request in batch.admitted:
            if request.scheduled != request.scheduled:
                request.scheduled = self.now
        begin = self.device_free if self.device_free > self.now else self.now
        end = begin + self.clock.seconds(batch) + self.pause
        self.pause = 0.0
        self.device_free = end
        self.in_flight.append((batch, end))
        if self.options.async_scheduling and batch.chunks:
            # A single-GPU engine launches kernels in the thread that handles results. Decode batches are one launch;
            # others wait for the step before and then launch piece by piece, and that step's results wait with them.
            self.now = max(self.now, begin + self.clock.launch(batch))

    # -- results

    def _result(self, batch: Batch, outcome: Outcome, end: float) -> None:
        journal = self.journal
        prompts = self._producers(outcome, end) if outcome.producers else 0
        journal.end.append(end)
        journal.gap.append(end - self.last_end)
        journal.regular.append(outcome.regular)
        journal.generated.append(outcome.regular + len(outcome.producers))
        journal.prompts.append(prompts)
        journal.running.append(len(self.scheduler.running))
        journal.waiting.append(len(self.scheduler.waiting))
        journal.free_blocks.append(self.scheduler.pool.free_count)
        self.last_end = end
        if outcome.preemptions:
            journal.preemptions += [end] * outcome.preemptions
        if self.on_result is not None:
            self.on_result(batch, outcome, end)
        if outcome.finished:
            self._finish(outcome.finished, end)

    def _producers(self, outcome: Outcome, end: float) -> int:
        """First tokens, and tokens after a gap; returns the prompt tokens of the prefills that are done."""
        journal = self.journal
        prompts = 0
        for request, before in outcome.producers:
            if before < 0:
                request.first_token = end
                journal.first.append(request)
                prompts += request.prompt_tokens
                journal.cached_tokens += request.hit_tokens
                self.prefilling_tokens -= request.prompt_tokens
            else:
                journal.odd_t.append(end)
                journal.odd_gap.append(end - journal.end[max(before - journal.dropped, 0)])
        journal.computed_tokens += prompts
        return prompts

    def _finish(self, finished: Sequence[Request], end: float) -> None:
        for request in finished:
            request.last_token = request.finished = end
            self.unfinished -= 1
        self.journal.finished += finished
        known = end + self.clock.profile.back_s
        for request in finished:
            self.on_finish(request, known)

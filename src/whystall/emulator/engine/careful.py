"""The running batch walked in order, for steps in which not everybody decodes or not everybody fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .batch import Batch, Chunk
from .request import Request, Stand

if TYPE_CHECKING:
    from .scheduler import Scheduler


def prefill_threshold(scheduler: Scheduler) -> int:
    """Most tokens that one request may get in a step while others want some too; 0 is no limit."""
    options = scheduler.options
    wanting = len(scheduler.running) + len(scheduler.waiting)
    if wanting <= 1 or not options.long_prefill_token_threshold:
        return 0
    if not options.long_prefill_token_threshold_adaptive:
        return options.long_prefill_token_threshold
    return max(options.long_prefill_token_threshold, options.max_num_batched_tokens // wanting)


class _Walk:
    """One walk over the running batch: the order, where it stands, what was given."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.order = list(scheduler.running.values())
        self.index = 0
        self.budget = scheduler.budget
        self.threshold = prefill_threshold(scheduler)
        self.given: dict[int, Chunk] = {}  # by seat
        self.preempted: list[Request] = []

    def run(self) -> None:
        while self.index < len(self.order) and self.budget > 0:
            request = self.order[self.index]
            tokens = self._wanted(request)
            if tokens <= 0:
                self.index += 1
                continue
            if not self._make_room(request, tokens):
                return
            self._give(request, tokens)

    def _wanted(self, request: Request) -> int:
        if request.stand is Stand.DRAINED:
            return 0
        tokens = request.tokens - request.computed
        if 0 < self.threshold < tokens:
            tokens = self.threshold
        return min(tokens, self.budget, self.scheduler.options.max_model_len - 1 - request.computed)

    def _missing(self, request: Request, tokens: int) -> int:
        return -(-(request.computed + tokens) // self.scheduler.options.block_size) - len(request.blocks)

    def _make_room(self, request: Request, tokens: int) -> bool:
        """Preempt until ``request`` fits; False when it was itself the one to go."""
        while self._missing(request, tokens) > self.scheduler.pool.free_count:
            victim = self._victim()
            self.preempted.append(victim)
            self.scheduler.preempt(victim)
            if victim is request:
                return False
        return True

    def _victim(self) -> Request:
        if self.scheduler.options.scheduling_policy == "fcfs":
            victim = self.order.pop()
        else:
            victim = max(self.order, key=lambda r: (r.priority, r.arrival))
            place = self.order.index(victim)
            del self.order[place]
            if place < self.index:
                self.index -= 1
            chunk = self.given.pop(victim.seat, None)
            if chunk is not None:
                self.budget += chunk.tokens
        del self.scheduler.running[victim.seat]
        return victim

    def _give(self, request: Request, tokens: int) -> None:
        scheduler = self.scheduler
        missing = self._missing(request, tokens)
        if missing > 0:
            request.blocks += scheduler.pool.take(missing)
        in_flight = request.entered <= request.last_scheduled and request.last_scheduled > scheduler.updated
        known = request.tokens - 1 if in_flight else request.tokens
        request.cached_tokens = max(request.cached_tokens, min(request.computed + tokens, known))
        scheduler.cache_known(request)
        self.given[request.seat] = Chunk(request, tokens, request.computed)
        self.budget -= tokens
        self.index += 1


def advance(scheduler: Scheduler) -> Batch:
    """Give the running requests their tokens, preempting from the end of the batch where blocks run out."""
    scheduler.write_out()
    walk = _Walk(scheduler)
    walk.run()
    batch = Batch(scheduler.step, 0, 0)
    batch.chunks = list(walk.given.values())
    batch.tokens = sum(chunk.tokens for chunk in batch.chunks)
    batch.preempted = walk.preempted
    return batch

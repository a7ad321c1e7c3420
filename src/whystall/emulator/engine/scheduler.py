"""vLLM's V1 scheduler: who gets how many tokens in the next step, and what its result changes.

Requests that only decode are not touched step by step. Between the events that concern one (a new block every
``block_size`` tokens, its last token) all of its numbers follow from the step's index, so a step costs as much as
it changes. Where a step cannot serve everybody, or prefill chunks are under way, the numbers are written out and
:mod:`.careful` walks the running batch as the real scheduler does.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from operator import attrgetter

from . import admission, careful
from .batch import Batch, Outcome
from .blocks import BlockPool
from .options import EngineOptions
from .queue import waiting_line
from .request import Request, Stand

_by_seat = attrgetter("seat")
_QUEUED = (Stand.WAITING, Stand.PREEMPTED)
_GONE = (Stand.FINISHED, Stand.ABORTED)


class Scheduler:
    """One engine's scheduler: ``add``, ``schedule``, ``update`` with each batch in order, ``abort``.

    Asynchronous scheduling is calling ``schedule`` again before the batch before was given to ``update``.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.set_options(options)
        self.pool = BlockPool(options.num_gpu_blocks, options.enable_prefix_caching)
        self.running: dict[int, Request] = {}  # by seat, which is the order of admission
        self.waiting = waiting_line(options.scheduling_policy)
        self.deferred: set[Request] = set()  # waiting, and set aside at some time since they came
        self.loose: dict[int, Request] = {}
        self.step = 0  # index of the next batch; an empty one has none
        self.updated = -1  # index of the last batch whose result came
        self.prefix_queries = 0  # tokens
        self.prefix_hits = 0  # tokens
        self.decodes = 0  # requests that decode
        self.context = 0  # tokens of context that they have together at the next step
        self.horizon = 0  # DECODING: horizon - origin tokens are known and written
        self.stale: dict[int, list[Request]] = {}
        self.due: list[list[Request]] = [[] for _ in range(options.block_size)]
        self.last: dict[int, list[Request]] = {}  # by the step that computes their last token
        self._dropped: dict[int, int] = {}  # results in flight that nobody waits for any more
        self._next_seat = 0
        self._fcfs = options.scheduling_policy == "fcfs"

    def set_options(self, options: EngineOptions) -> None:
        """Go on with other limits; the pool stays as it is."""
        self.options = options
        self.budget = options.token_budget
        self.seats = options.seats
        self.is_async = options.async_scheduling
        self.block_size = options.block_size
        self.reserve = int(options.watermark * options.num_gpu_blocks)  # blocks that stay free beside others
        self.blocked = False  # the head of the queue did not fit, and nothing was freed since

    # -- coming and going

    def add(self, request: Request) -> None:
        request.stand = Stand.WAITING
        room = self.options.max_model_len - request.prompt_tokens
        if request.output_tokens > room:
            request.output_tokens = request.max_tokens = room
        self.waiting.add(request)
        if not self._fcfs or len(self.waiting) == 1:
            self.blocked = False

    def abort(self, request: Request) -> None:
        """The client went away: everything it holds is free at once."""
        if request.stand in _GONE:
            return
        if request.stand in _QUEUED:
            self.waiting.remove(request)
            self.deferred.discard(request)
        else:
            if request.stand is Stand.DECODING:
                request.last_scheduled = self.step - 1
            self.vacate(request)
        for step in range(max(self.updated, request.entered) + 1, request.last_scheduled + 1):
            self._drop(step)
        if request in self.stale.get(request.stale_step, ()):
            self.stale[request.stale_step].remove(request)
        self._forget_end(request)
        self.blocked = False
        request.stand = Stand.ABORTED

    def vacate(self, request: Request) -> None:
        """Free the request's blocks and seat."""
        if request.stand is Stand.DECODING:
            self.leave(request)
        else:
            self.loose.pop(request.seat, None)
        self.free_blocks(request)
        del self.running[request.seat]

    def _drop(self, step: int) -> None:
        self._dropped[step] = self._dropped.get(step, 0) + 1

    def free_blocks(self, request: Request, *, comes_back: bool = False) -> None:
        """Let go of all blocks; of one that comes back those that only it can hit are marked."""
        self.cache_known(request)
        cached = request.cached_blocks
        shared = request.content.shared_blocks(cached, self.block_size) if cached else 0
        if comes_back and cached > shared:
            self.pool.mark(request.blocks[shared:cached], request.id)
        self.pool.release(request.blocks, shared, cached)
        request.blocks = []
        request.cached_blocks = 0
        self.blocked = False

    def take_seat(self, request: Request) -> None:
        request.seat = self._next_seat
        self._next_seat += 1
        self.running[request.seat] = request

    # -- decoding by step index

    def enter(self, request: Request, computed: int) -> None:
        """``request`` has its next token in this step and, from the next one on, one more token each."""
        request.origin = self.step + 1 - computed
        last = self._last_step(request)
        if last >= self.step:
            self.last.setdefault(last, []).append(request)
        request.last_step = request.last_scheduled = request.entered = self.step
        if last > self.step or self._wastes_a_slot(request):
            request.stand = Stand.DECODING
            self.decodes += 1
            self.context += computed
            due = self.due[request.origin % self.block_size]
            if not due or due[-1].seat < request.seat:
                due.append(request)
            else:
                insort(due, request, key=_by_seat)
        else:
            request.stand = Stand.DRAINED

    def leave(self, request: Request) -> None:
        """Stop counting ``request`` among those that decode; ``context`` then is that of the next step."""
        self.decodes -= 1
        self.context -= self.step - request.origin
        self.due[request.origin % self.block_size].remove(request)

    def _wastes_a_slot(self, request: Request) -> bool:
        """Asynchronous: an end that only the result tells of is noticed one step late."""
        ends_by_length = not request.stops_early
        full = request.prompt_tokens + request.output_tokens >= self.options.max_model_len
        return self.is_async and not ends_by_length and not full

    def written_tokens(self, request: Request) -> int:
        """Tokens of ``request`` that are known and in the cache: full blocks of them can be hit."""
        if request.stand is Stand.LOOSE:
            return request.cached_tokens
        written = self.horizon - request.origin
        most = request.prompt_tokens + request.output_tokens - 1
        return written if written < most else most

    def cache_known(self, request: Request) -> None:
        """Let keys point to the full blocks of ``request`` that are known."""
        if not self.pool.caching:
            return
        size = self.block_size
        full = self.written_tokens(request) // size
        if full > len(request.blocks):
            full = len(request.blocks)
        first = request.cached_blocks
        if full <= first:
            return
        shared = request.content.shared_blocks(full, size)
        if shared > first:
            self.pool.cache(request.blocks[first:shared], request.content.keys(first, shared, size))
        request.cached_blocks = full

    def write_out(self) -> None:
        """Turn every DECODING request into a LOOSE one, with its numbers as they are before this step."""
        for request in self.running.values():
            if request.stand is Stand.DECODING:
                self._loosen(request)
                self.loose[request.seat] = request
        self.decodes = self.context = 0
        for due in self.due:
            due.clear()

    def _loosen(self, request: Request) -> None:
        """Write the numbers of a DECODING request out, as they are before this step."""
        request.computed = self.step - request.origin
        request.tokens = request.computed + 1
        request.cached_tokens = self.written_tokens(request)
        request.last_step = request.last_scheduled = self.step - 1
        request.stand = Stand.LOOSE
        if self._last_step(request) >= self.step:
            self._forget_end(request)

    def _last_step(self, request: Request) -> int:
        return request.prompt_tokens + request.output_tokens - 2 + request.origin

    def _forget_end(self, request: Request) -> None:
        ends = self.last.get(self._last_step(request), [])
        if request in ends:
            ends.remove(request)

    # -- a step

    def schedule(self) -> Batch:
        """Choose the next step's work and hold the blocks that it needs."""
        step = self.step
        if self.is_async and self.updated < step - 1:
            self._drain(step - 1)
        due = self.due[step % self.block_size]
        short = len(due) > self.pool.free_count
        if self.loose or self.decodes > self.budget or (short and not self._fcfs):
            batch = careful.advance(self)
            self.blocked = False  # a prefill chunk may have cached what the head of the queue shares
        else:
            preempted: Sequence[Request] = ()
            if short:
                preempted = self._grow_short(due)
            elif due:
                self.pool.grow(due)
            batch = Batch(step, self.decodes, self.context)
            batch.preempted = preempted
        if self.horizon < self.updated + 2:
            self.horizon = self.updated + 2
        self.context += self.decodes
        if not batch.preempted:
            self._admit(batch)
        if batch.chunks:
            self._settle(batch)
        if batch.tokens:
            self.step = step + 1
        return batch

    def _drain(self, step: int) -> None:
        """Requests whose last allowed token is in flight are scheduled no more."""
        for request in self.last.get(step, ()):
            if request.stand is Stand.DECODING and not self._wastes_a_slot(request):
                self.leave(request)
                request.stand = Stand.DRAINED

    def _grow_short(self, due: list[Request]) -> list[Request]:
        """A block for each of ``due`` where blocks run out: the last of the batch go until it fits; returns who went."""
        preempted: list[Request] = []
        place = 0
        while place < len(due):  # ``due`` gets shorter as its last ones go
            while not self.pool.free_count and place < len(due):
                _, victim = self.running.popitem()
                if victim.stand is Stand.DECODING:
                    self.leave(victim)
                    self._loosen(victim)
                preempted.append(victim)
                self.preempt(victim)
            if place < len(due):
                due[place].blocks += self.pool.take(1)
                place += 1
        return preempted

    def _admit(self, batch: Batch) -> None:
        if not self.waiting or len(self.running) >= self.seats or self.blocked:
            return
        if self.pool.caching and self.waiting.head().content.sees_outputs:
            for request in self.running.values():
                self.cache_known(request)
        admission.admit(self, batch)

    def _settle(self, batch: Batch) -> None:
        """Count the scheduled tokens as computed; those that have all their tokens give one and decode from here."""
        producers: list[tuple[Request, int]] = []
        for request, tokens, context in batch.chunks:
            computed = context + tokens
            request.last_scheduled = self.step
            if computed >= request.tokens:
                producers.append((request, request.last_step))
                if self.loose:
                    self.loose.pop(request.seat, None)
                self.enter(request, computed)
            else:
                request.computed = computed
                request.stand = Stand.LOOSE
                self.loose[request.seat] = request
        batch.producers = producers

    @property
    def calm(self) -> bool:
        """Nobody ends with the next results, nobody can come, and nobody in the batch needs more than a token a step."""
        if self.updated + 1 in self.last or self.step - 1 in self.last or self.loose or not self.decodes:
            return False
        if self.stale or self._dropped:  # a result in flight is not all for those who decode now
            return False
        open_to_all = self.waiting and not self.blocked and len(self.running) < self.seats
        return not open_to_all and self.decodes <= self.budget

    def coasted(self, steps: int, context: int) -> None:
        """``steps`` steps went by in which every request that decodes got one token."""
        self.step += steps
        self.updated += steps
        self.context = context
        self.horizon = max(self.horizon, self.updated + 2)  # as the last of the steps was scheduled

    # -- its result

    def update(self, batch: Batch) -> Outcome:
        """The result of ``batch`` came: who got tokens, who is done."""
        step = batch.step
        self.updated = step
        outcome = Outcome(batch.decodes - (self._dropped.pop(step, 0) if self._dropped else 0))
        if self.stale:
            for request in self.stale.pop(step, ()):
                outcome.preemptions += self._report(request)
        if batch.producers:
            outcome.producers = [producer for producer in batch.producers if producer[0].stand not in _GONE]
            for request, _ in outcome.producers:
                outcome.preemptions += self._report(request)
        if self.is_async:
            if self.horizon <= step:
                self.horizon = step + 1
            for request in self.loose.values() if self.loose else ():
                if request.last_scheduled == step and request.entered <= step:
                    request.cached_tokens = request.computed
        ends = self.last.pop(step, None)
        if ends:
            self._finish(ends, outcome)
        return outcome

    def _finish(self, ends: list[Request], outcome: Outcome) -> None:
        ends.sort(key=_by_seat)
        for request in ends:
            if request.stand is Stand.PREEMPTED:
                self.waiting.remove(request)
                self.deferred.discard(request)
            else:
                if request.stand is Stand.DECODING and self.step - 1 > max(self.updated, request.entered):
                    self._drop(self.step - 1)
                self.vacate(request)
            request.reason = "stop" if request.stops_early else "length"
            request.stand = Stand.FINISHED
        outcome.finished = ends

    def _report(self, request: Request) -> int:
        events, request.unreported = request.unreported, 0
        return events

    # -- preemption

    def preempt(self, request: Request) -> None:
        """Free all of the request's blocks and put it back to the head of the queue; its outputs are kept.

        Its seat must have been taken from it already.
        """
        in_flight = request.last_scheduled > self.updated
        self.loose.pop(request.seat, None)
        held = request.blocks
        self.free_blocks(request, comes_back=True)
        request.held = held
        if in_flight and request.entered <= request.last_scheduled:
            self.stale.setdefault(request.last_scheduled, []).append(request)
        request.stale_step = request.last_scheduled if in_flight else -1
        request.stand = Stand.PREEMPTED
        request.computed = 0
        request.cached_tokens = 0
        request.preemptions += 1
        request.unreported += 1
        self.waiting.put_back(request)

    def outputs(self, request: Request) -> int:
        """Tokens of ``request`` that its client has been given so far."""
        if request.stand is Stand.FINISHED:
            return request.output_tokens
        if request.stand in (Stand.DECODING, Stand.DRAINED):
            known = max(self.updated + 2, request.entered + 1) - request.origin
            return min(known - request.prompt_tokens, request.output_tokens)
        in_flight = request.stale_step > self.updated
        if request.stand is Stand.LOOSE:
            in_flight = request.entered <= request.last_scheduled and request.last_scheduled > self.updated
        return max(request.tokens - request.prompt_tokens - in_flight, 0)

    def decoding(self) -> list[Request]:
        """The requests kept by step index, in the order of the batch. Walks the batch: for faces and tests."""
        return [request for request in self.running.values() if request.stand is Stand.DECODING]

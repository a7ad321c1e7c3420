"""Who comes into the running batch: the head of the queue, as long as seats, tokens and blocks last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .batch import Batch, Chunk
from .careful import prefill_threshold
from .request import NOT_ENTERED, Request, Stand

if TYPE_CHECKING:
    from .scheduler import Scheduler


def admit(scheduler: Scheduler, batch: Batch) -> None:
    """Admit from the head until something is short. A head that does not fit blocks all behind it."""
    options = scheduler.options
    waiting, running = scheduler.waiting, scheduler.running
    budget = scheduler.budget - batch.tokens
    threshold = prefill_threshold(scheduler) if options.long_prefill_token_threshold else 0
    seats = scheduler.seats
    aside: list[Request] = []
    chunks: list[Chunk] = []
    adapters = {r.adapter for r in running.values() if r.adapter} if options.max_loras else set()
    while budget > 0 and waiting and len(running) < seats:
        request = waiting.head()
        crowded = request.adapter and request.adapter not in adapters and len(adapters) >= options.max_loras
        if request.stale_step > scheduler.updated or request.blocked or crowded:
            aside.append(waiting.take_head())
            scheduler.deferred.add(request)
            continue
        tokens = _try(scheduler, request, budget, threshold)
        if tokens <= 0:
            # Who was set aside comes back on its own; until then the head is looked at anew at each step. So is one
            # whose prompt may hold what others generate: each full block of theirs is one that it need not take.
            grows = scheduler.pool.caching and request.content.sees_outputs
            scheduler.blocked = tokens < 0 and not aside and not grows
            break
        waiting.take_head()
        scheduler.deferred.discard(request)
        chunks.append(_seat(scheduler, request, tokens))
        if options.max_loras:
            adapters.add(request.adapter)
        budget -= tokens
    if chunks:
        batch.chunks = [*batch.chunks, *chunks] if batch.chunks else chunks
        batch.tokens = scheduler.budget - budget
        batch.admitted = [chunk.request for chunk in chunks]
    if aside:
        waiting.restore(aside)


def _try(scheduler: Scheduler, request: Request, budget: int, threshold: int) -> int:
    """Tokens that ``request`` gets in its first step, its blocks then held; 0: not in this step, -1: no blocks."""
    options = scheduler.options
    size = scheduler.block_size
    full = (request.tokens - 1) // size  # the last token is always computed, for its logits
    shared = request.content.shared_blocks(full, size) if scheduler.pool.caching else 0
    reserve = scheduler.reserve if scheduler.running else 0
    whole = -(-min(request.tokens, options.max_model_len) // size) if options.scheduler_reserve_full_isl else 0
    if not shared and options.enable_chunked_prefill and whole + reserve > scheduler.pool.free_count:
        return -1  # blocks that it had before, if they are still there, are free ones too
    found = _cached_prefix(scheduler, request, shared, full)
    hit = len(found) * size
    tokens = request.tokens - hit
    if 0 < threshold < tokens:
        tokens = threshold
    if tokens > budget:
        if not options.enable_chunked_prefill:
            return 0
        tokens = budget
    taken_from_free = scheduler.pool.count_free(found) if found else 0
    first = -(-(hit + tokens) // size) - len(found)
    needed = whole - len(found)
    if needed < first:
        needed = first
    if needed + taken_from_free + reserve > scheduler.pool.free_count:
        return -1
    if found:
        scheduler.pool.touch(found)
    request.blocks = found + scheduler.pool.take(first) if found else scheduler.pool.take(first)
    request.cached_blocks = len(found)
    request.held = ()
    request.computed = hit
    return tokens


def _cached_prefix(scheduler: Scheduler, request: Request, shared: int, full: int) -> list[int]:
    """Cached blocks of the longest known prefix: ``shared`` blocks others may have too, up to ``full`` are its own."""
    found: list[int] = []
    if shared:
        found = scheduler.pool.find(request.content.keys(0, shared, scheduler.block_size))
    if request.held and scheduler.pool.caching and len(found) == shared:
        found += scheduler.pool.still_marked(request.held[shared:full], request.id)
    return found


def _seat(scheduler: Scheduler, request: Request, tokens: int) -> Chunk:
    hit = request.computed
    if not request.preemptions:
        request.hit_tokens = hit
        if scheduler.pool.caching:
            scheduler.prefix_queries += request.tokens
            scheduler.prefix_hits += hit
    scheduler.take_seat(request)
    request.stand = Stand.LOOSE
    request.entered = NOT_ENTERED
    request.cached_tokens = hit + tokens  # at most all
    scheduler.cache_known(request)
    return Chunk(request, tokens, hit)

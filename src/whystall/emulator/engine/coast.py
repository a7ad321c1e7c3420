"""Runs of steps in which nothing changes but the context's length: played without asking anybody.

Between two events (an arrival, a last token, a block that is not there) every step of a batch that only decodes is
the one before with one more token of context a request. The results are those of stepping, to the last bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .batch import Batch

if TYPE_CHECKING:
    from .engine import Engine


def coast(engine: Engine, until: float) -> None:
    """Advance ``engine`` from result to result up to ``until`` or the next event, whichever is first.

    The pipeline must be full of batches that only decode, and nobody may be waiting who could come.
    """
    scheduler, clock, journal, pool = engine.scheduler, engine.clock, engine.journal, engine.scheduler.pool
    last, dues, size = scheduler.last, scheduler.due, engine.options.block_size
    count = scheduler.decodes
    fixed, slope, least, idle = clock.decode_line(count)
    ahead, arrival = engine.depth - 1, engine.next_arrival
    ends = [end for _, end in engine.in_flight]
    step, context, free_at = scheduler.step, scheduler.context, engine.device_free
    before, rows = engine.last_end, 0
    while True:
        end = ends[rows]
        if end > until or end >= arrival or step - 1 in last or step - 1 - ahead in last:
            break
        due = dues[step % size]
        if len(due) > pool.free_count:
            break
        journal.free_blocks.append(pool.free_count)
        if due:
            pool.grow(due)
        journal.gap.append(end - before)
        before = end
        time = fixed + slope * context
        free_at += time if time > least else least
        ends.append(free_at)
        context += count
        step += 1
        rows += 1
    if not rows:
        return
    _note(engine, ends[:rows], count)
    contexts = rows * scheduler.context + count * rows * (rows - 1) / 2
    clock.kernel_s += rows * fixed + slope * contexts - rows * idle
    clock.collective_s += rows * clock.link(count)
    scheduler.coasted(rows, context)
    engine.now, engine.last_end, engine.device_free = before, before, free_at
    _refill(engine, ends[rows:], count)


def _note(engine: Engine, ends: list[float], count: int) -> None:
    """The journal's rows of the steps that ended at ``ends``; what differs from step to step is in it already."""
    journal, scheduler = engine.journal, engine.scheduler
    journal.end += ends
    for column, value in (
        (journal.regular, count),
        (journal.generated, count),
        (journal.prompts, 0),
        (journal.running, len(scheduler.running)),
        (journal.waiting, len(scheduler.waiting)),
    ):
        column += [value] * len(ends)


def _refill(engine: Engine, ends: list[float], count: int) -> None:
    """The pipeline's batches after the run, which end at ``ends``."""
    step, context = engine.scheduler.step, engine.scheduler.context
    engine.in_flight.clear()
    for back, end in enumerate(ends):
        place = step - engine.depth + back
        engine.in_flight.append((Batch(place, count, context - count * (engine.depth - back)), end))

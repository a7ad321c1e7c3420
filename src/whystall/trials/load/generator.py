"""Plays a load that is given in phases: each phase becomes a trace, and the traces are sent one after another."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from whystall.emulator.engine.workload import Phase
from whystall.sources.client import RequestRow

from .exchange import Exchange
from .plan import LoadPlan
from .sender import LoadTarget, Sender

__all__ = ["LoadGenerator", "LoadTarget"]


class LoadGenerator:
    """Plays phases against a target. ``sink`` gets a row for each request that ended, or failed."""

    def __init__(self, target: LoadTarget, sink: Callable[[RequestRow], None], *, seed: int = 1) -> None:
        self.target = target
        self.sink = sink
        self.random = random.Random(seed)
        self.sent = 0
        self.left_out = 0

    async def play(self, phases: Sequence[Phase]) -> None:
        """Send everything. Requests of a phase that is ``cut`` are given up at its end, the others awaited."""
        async with Sender(self.target) as sender:
            try:
                for phase in phases:
                    trace = _plan_of(phase).trace(phase.seconds, seed=self.random.getrandbits(32))
                    await sender.play(trace, self._ended)
                    if phase.cut:
                        await sender.give_up()
                await sender.drain()
            finally:
                self.sent, self.left_out = sender.sent, sender.left_out

    def _ended(self, exchange: Exchange) -> None:
        if not exchange.cut:
            self.sink(exchange.row())


def _plan_of(phase: Phase) -> LoadPlan:
    phase.check()
    return LoadPlan(mix=phase.mix, rate=phase.rate, burst=phase.burst, clients=phase.clients, think_s=phase.think_s)

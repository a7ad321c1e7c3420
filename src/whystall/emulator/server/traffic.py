"""The load that an emulated server makes for itself, so that it can be looked at without a client."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import pi, sin

import msgspec

from whystall.emulator.engine.content import OwnContent
from whystall.emulator.engine.request import Request
from whystall.emulator.engine.workload import LengthClass

Send = Callable[[Request], None]
OWN_ID = 1_000_000  # requests of this load have numbers from here on, those that come over HTTP below


class TrafficPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Open loop of ``rate`` requests a second (Poisson, ``burst`` at once), or a closed loop of ``clients``.

    ``swing``: the rate goes up and down by this share, once in ``period_s``.
    """

    mix: tuple[LengthClass, ...] = (LengthClass(1.0, (200, 800), (100, 300)),)
    rate: float = 0.0
    clients: int = 0
    think_s: float = 0.0
    burst: int = 1
    swing: float = 0.0
    period_s: float = 300.0


class Traffic:
    """Sends what ``plan`` says; the plan may be replaced while it runs. ``send`` is given requests in order of time."""

    def __init__(self, plan: TrafficPlan, send: Send, *, start: float, seed: int, first_id: int = OWN_ID) -> None:
        self.plan = plan
        self.send = send
        self.start = start
        self.random = random.Random(seed)
        self._next_id = first_id
        self._next = start
        self._waiting = 0  # clients that wait for an answer

    @property
    def next_time(self) -> float:
        """When the next request goes out; inf where nothing is planned."""
        return self._next if self.plan.rate > 0 else float("inf")

    def feed(self, until: float) -> None:
        """Send everything that is due up to ``until``."""
        while self._next <= until:
            if self.plan.rate <= 0:
                self._next = until + 0.1
                break
            for _ in range(self.plan.burst):
                self.send(self._request(self._next, client=False))
            self._next += self.random.expovariate(self._rate(self._next) / self.plan.burst)
        while self._waiting < self.plan.clients:
            self._waiting += 1
            self.send(self._request(until, client=True))

    def answered(self, request: Request, now: float) -> None:
        """One of our own requests ended (or was refused): its client thinks and sends again."""
        if request.tag is not self:
            return
        self._waiting -= 1
        if self._waiting < self.plan.clients:
            self._waiting += 1
            self.send(self._request(now + max(self.plan.think_s, 1e-3), client=True))

    def _rate(self, t: float) -> float:
        plan = self.plan
        return plan.rate * max(1.0 + plan.swing * sin(2 * pi * (t - self.start) / plan.period_s), 0.05)

    def also(self, kind: LengthClass, t: float) -> None:
        """One request of ``kind`` beside the plan."""
        self.send(self._request_of(kind, t, client=False))

    def _request(self, t: float, *, client: bool) -> Request:
        mix = self.plan.mix
        chosen = self.random.choices(mix, weights=[c.share for c in mix])[0]
        return self._request_of(chosen, t, client=client)

    def _request_of(self, chosen: LengthClass, t: float, *, client: bool) -> Request:
        prefix = (chosen.prefix or "shared") if chosen.shared_prefix else None
        self._next_id += 1
        return Request(
            self._next_id,
            self.random.randint(*chosen.prompt),
            self.random.randint(*chosen.output),
            OwnContent(prefix, chosen.shared_prefix),
            arrival=t,
            priority=chosen.priority,
            tag=self if client else None,
        )

"""A kind of load: how requests arrive and what they are. A plan and a seed make a trace of any length."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import msgspec

from whystall.emulator.engine.workload import Arrival, LengthClass
from whystall.errors import UsageError

from .trace import Trace

_CLOSED_DRAWN = 4096  # requests drawn for a closed loop; after them their lengths come again
_MOST_ARRIVALS = 2_000_000


class LoadPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Open loop: Poisson arrivals of ``rate`` a second, in groups of ``burst``; with ``ramp_to`` the rate goes there
    from ``rate`` over a trace. Closed loop: ``clients`` that wait for their answer and think. Recorded: the arrivals
    of a public or own trace, ``speed`` times as fast.
    """

    mix: tuple[LengthClass, ...] = (LengthClass(1.0, (200, 800), (100, 300)),)
    rate: float = 0.0
    ramp_to: float | None = None
    burst: int = 1
    clients: int = 0
    think_s: float = 0.0
    recorded: tuple[Arrival, ...] = ()
    speed: float = 1.0

    def check(self) -> LoadPlan:
        """Returns itself. Raises UsageError where it says no load, or more than one."""
        ways = [bool(self.recorded), self.rate > 0, self.clients > 0]
        if sum(ways) != 1:
            raise UsageError(
                "the load is not given, or given twice", "Give one of --rate, --clients and --trace; see --help."
            )
        return self

    def trace(self, seconds: float, *, seed: int, start: float = 0.0) -> Trace:
        """``seconds`` of this load. ``seed`` draws it; ``start`` is where a recorded trace goes on, which begins anew
        at its end. Equal arguments give equal traces.
        """
        self.check()
        if self.recorded:
            return Trace(seconds=seconds, arrivals=tuple(self._replayed(seconds, start)), seed=seed)
        draw = random.Random(seed)
        if self.clients:
            pool = tuple(_drawn(self.mix, 0.0, draw) for _ in range(_CLOSED_DRAWN))
            return Trace(seconds=seconds, arrivals=pool, clients=self.clients, think_s=self.think_s, seed=seed)
        moments = self._moments(seconds, draw)
        return Trace(seconds=seconds, arrivals=tuple(_drawn(self.mix, t, draw) for t in moments), seed=seed)

    def with_rate(self, rate: float) -> LoadPlan:
        """The plan at another rate; a recorded trace is played faster or slower."""
        if self.recorded:
            return msgspec.structs.replace(self, speed=rate / max(self.offered, 1e-9) * self.speed)
        return msgspec.structs.replace(self, rate=rate, ramp_to=None)

    @property
    def offered(self) -> float:
        """Requests a second, the mean; NaN of a closed loop, which offers what the server answers."""
        if self.recorded:
            return len(self.recorded) / max(self.recorded[-1].t, 1e-9) * self.speed
        if self.clients:
            return math.nan
        return self.rate if self.ramp_to is None else (self.rate + self.ramp_to) / 2

    def describe(self) -> str:
        """In words, for what is printed before sending and for the report."""
        if self.recorded:
            return f"a recorded trace of {len(self.recorded)} requests at {self.offered:.3g} requests/s"
        lengths = ", ".join(f"{_span(c.prompt)} -> {_span(c.output)} tokens" for c in self.mix)
        prefix = max(c.shared_prefix for c in self.mix)
        lengths += f", {prefix} of them shared" if prefix else ""
        if self.clients:
            return f"{self.clients} clients that wait for their answers, {lengths}"
        ramp = f" rising to {self.ramp_to:.4g}" if self.ramp_to is not None else ""
        group = f" in groups of {self.burst}" if self.burst > 1 else ""
        return f"{self.rate:.4g} requests/s{ramp}{group}, {lengths}"

    def _moments(self, seconds: float, draw: random.Random) -> Iterator[float]:
        """Poisson arrivals: unit-rate ones, at the times when the rate's integral reaches them."""
        last = self.rate if self.ramp_to is None else self.ramp_to
        total = (self.rate + last) / 2 * seconds
        reached, number = draw.expovariate(1.0) * self.burst, 0
        while reached < total and number < _MOST_ARRIVALS:
            t = _when(reached, self.rate, (last - self.rate) / seconds)
            for _ in range(self.burst):
                number += 1
                yield t
            reached += draw.expovariate(1.0) * self.burst

    def _replayed(self, seconds: float, start: float) -> Iterator[Arrival]:
        length = max(self.recorded[-1].t / self.speed, 1e-3) + 1e-3
        turn = math.floor(start / length)
        number = 0
        while turn * length < start + seconds and number < _MOST_ARRIVALS:
            for arrival in self.recorded:
                t = turn * length + arrival.t / self.speed - start
                if 0 <= t < seconds:
                    number += 1
                    yield msgspec.structs.replace(arrival, t=t)
            turn += 1


def _when(reached: float, rate: float, slope: float) -> float:
    """When rate * t + slope * t^2 / 2 is ``reached``."""
    if abs(slope) < 1e-12:
        return reached / rate
    return 2 * reached / (rate + math.sqrt(max(rate * rate + 2 * slope * reached, 0.0)))


def _drawn(mix: tuple[LengthClass, ...], t: float, draw: random.Random) -> Arrival:
    kind = draw.choices(mix, weights=[c.share for c in mix])[0]
    return Arrival(
        t=t,
        prompt_tokens=draw.randint(*kind.prompt),
        output_tokens=draw.randint(*kind.output),
        prefix=kind.prefix or ("shared" if kind.shared_prefix else ""),
        prefix_tokens=kind.shared_prefix,
        priority=kind.priority,
    )


def _span(span: tuple[int, int]) -> str:
    return f"{span[0]}" if span[0] == span[1] else f"{span[0]}-{span[1]}"

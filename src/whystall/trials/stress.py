"""The highest rate that a server serves within its SLO, by bisection: each rate with a load of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

import msgspec
import numpy as np

from whystall.errors import UsageError
from whystall.model.capacity import Broken, Capacity, CapacityPoint
from whystall.model.slo import Slo
from whystall.model.text import Text

from .arm import Arm
from .blocks import BlockResult
from .load.findings import load_findings
from .load.plan import LoadPlan
from .warmup import slowest_e2e_s, warm_up

LEAST_REQUESTS = 200  # of a point, after its head (method.md section 3)
_LEAST_S = 20.0
_NEAR = 2.3  # times as many requests between two bounds
_ERRORS = 0.01
Say = Callable[[str], None]


class StressSpec(msgspec.Struct, frozen=True, kw_only=True):
    """``plan`` is sent at rates from ``first_rate`` on. A rate holds where ``attainment`` of its requests are within the SLO,
    at most 1% fail, and no queue grows. ``precision`` 0.1: stop once the bounds are within 10%.
    """

    plan: LoadPlan
    slo: Slo
    attainment: float = 0.9
    first_rate: float = 1.0
    precision: float = 0.1
    budget_s: float = 3600.0
    seed: int = 1


async def find_capacity(arm: Arm, spec: StressSpec, say: Say) -> Capacity:
    """Double the rate until it fails (or halve it until it holds), then bisect. ``say`` hears a line after each rate.

    Raises UsageError for a closed loop, which has no rate.
    """
    if spec.plan.clients:
        raise UsageError("a closed loop has no rate to find", "Leave --clients away: stress looks for the rate itself.")
    search = _Search(arm, spec, say)
    await search.run()
    return search.capacity()


class _Search:
    """One search's state: ``holds`` and ``fails`` are the bounds so far."""

    def __init__(self, arm: Arm, spec: StressSpec, say: Say) -> None:
        self.arm = arm
        self.spec = spec
        self.say = say
        self.holds: float | None = None
        self.fails: float | None = None
        self.points: list[CapacityPoint] = []
        self.results: list[BlockResult] = []
        self.spent_s = 0.0
        self.e2e_s = 0.0
        self._salts = count(spec.seed * 1_000_003)

    async def run(self) -> None:
        plan = self.spec.plan.with_rate(self.spec.first_rate)
        done, windows = await warm_up("a", self.arm, plan, seed=self.spec.seed, salts=self._salts, most_s=60.0)
        self.spent_s += done.seconds
        self.e2e_s = slowest_e2e_s(windows)
        rate = self.spec.first_rate
        while not self._found() and self.spent_s + self._seconds(rate) <= self.spec.budget_s:
            point = await self._try(rate)
            if point.verdict == "holds":
                self.holds = max(rate, self.holds or 0.0)
            else:
                self.fails = min(rate, self.fails or rate)
            rate = self._next()

    def _found(self) -> bool:
        return bool(self.holds and self.fails and self.fails <= self.holds * (1 + self.spec.precision))

    def _next(self) -> float:
        if self.fails is None:
            return 2 * (self.holds or self.spec.first_rate)
        if self.holds is None:
            return self.fails / 2
        return math.sqrt(self.holds * self.fails)

    def _seconds(self, rate: float) -> float:
        """How long a rate is sent: its head, and what the requests need."""
        near = self.holds is not None and self.fails is not None  # where chance decides a rate most easily
        return max(_LEAST_S, LEAST_REQUESTS * (_NEAR if near else 1.15) / rate + self._head())

    def _head(self) -> float:
        return min(3 * self.e2e_s, 30.0)

    async def _try(self, rate: float) -> CapacityPoint:
        seconds, head = self._seconds(rate), self._head()
        trace = self.spec.plan.with_rate(rate).trace(seconds, seed=self.spec.seed + len(self.points))
        result = await self.arm.block(trace.salted(next(self._salts)), seconds)
        self.spent_s += result.seconds + result.drained_s
        self.results.append(result)
        point = judged(rate, result, head, self.spec)
        self.points.append(point)
        share = "-" if point.attainment is None else f"{point.attainment:.1%}"
        self.say(f"{rate:.3g} requests/s: {point.verdict}, {share} within the SLO {' '.join(point.broken)}".rstrip())
        return point

    def capacity(self) -> Capacity:
        """What was found."""
        best = next((p for p in self.points if p.rate == self.holds), None)
        return Capacity(
            target=self.arm.label.target,
            slo=str(self.spec.slo),
            attainment=self.spec.attainment,
            rate=self.holds,
            fails_at=self.fails,
            because=self._because(),
            points=tuple(self.points),
            seconds=self.spent_s,
            load=self.spec.plan.with_rate(self.holds or self.spec.first_rate).describe(),
            tokens_per_s=best.figures.get("tokens_per_s") if best else None,
            findings=tuple(load_findings(self.spec.plan, self._held(), [], 0.0)),
        )

    def _held(self) -> list[BlockResult]:
        # A rate above capacity is what stress looks for, not a fault of the measurement.
        return [r for r, p in zip(self.results, self.points, strict=True) if p.verdict == "holds"]

    def _because(self) -> Text:
        if self._found():
            failed = next(p for p in reversed(self.points) if p.rate == self.fails)
            text = Text(
                "{share:.0%} of requests are within the SLO up to {rate:.3g} requests/s; at {fails:.3g} it breaks: {what}",
                "{rate:.3g} 请求/秒以内有 {share:.0%} 的请求满足 SLO；{fails:.3g} 时不再满足：{what}",
            )
            what = ", ".join(failed.broken)
            return text.format(share=self.spec.attainment, rate=self.holds, fails=self.fails, what=what)
        text = Text(
            "the time was up with {holds} held and {fails} failed; give more with --for, or begin nearer with --rate",
            "时间用完：满足的最高速率 {holds}，未满足的最低速率 {fails}；请用 --for 延长，或用 --rate 从更接近处开始",
        )
        shown = [f"{rate:.3g} requests/s" if rate else "no rate" for rate in (self.holds, self.fails)]
        return text.format(holds=shown[0], fails=shown[1])


def judged(rate: float, result: BlockResult, head_s: float, spec: StressSpec) -> CapacityPoint:
    """Whether a rate held, from what its requests saw."""
    figures = result.figures(head_s, spec.slo)
    attained, errors = figures["slo_attainment"], figures["errors"] or 0.0
    grows = queue_grows(result, head_s)
    broken: tuple[Broken, ...] = ()
    if attained is None or attained < spec.attainment:
        broken += ("slo",)
    if grows:
        broken += ("queue",)
    if errors > _ERRORS:
        broken += ("errors",)
    counted = int((result.intended_s >= head_s).sum())
    verdict = "fails" if broken else "holds"
    return CapacityPoint(rate, verdict, counted, result.seconds, attained, grows, figures, broken)  # type: ignore[arg-type]


def queue_grows(result: BlockResult, head_s: float) -> bool:
    """Whether more requests are under way in the last third than in the middle one by over what chance does.

    The number under way in a steady server spreads like a Poisson one, by its root; three of those and a tenth are growth.
    """
    span = (result.seconds - head_s) / 3
    middle, last = (_under_way(result, head_s + k * span, head_s + (k + 1) * span) for k in (1, 2))
    return last > middle * 1.1 + 3 * math.sqrt(max(middle, 1.0))


def _under_way(result: BlockResult, start: float, stop: float) -> float:
    ends = result.intended_s + np.nan_to_num(result.e2e_s, nan=0.0)
    overlap = np.minimum(ends, stop) - np.maximum(result.intended_s, start)
    return float(np.maximum(overlap, 0.0).sum() / max(stop - start, 1e-9))

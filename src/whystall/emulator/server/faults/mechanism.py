"""The mechanisms that faults change: rates, limits, delays, the load. Never a number that is shown."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.traffic import TrafficPlan

Apply = Callable[[Deployment, float, float], None]  # deployment, emulated time, severity


def profiles(deployment: Deployment, change: Callable[[StepProfile], StepProfile]) -> None:
    """Every engine's steps take what ``change`` makes of their profile."""
    for replica in deployment.replicas:
        replica.engine.clock.set(change(replica.engine.clock.profile))


def scale(**factors: float) -> Callable[[StepProfile], StepProfile]:
    return lambda profile: profile.scaled(**factors)


def add(**seconds: float) -> Callable[[StepProfile], StepProfile]:
    def change(profile: StepProfile) -> StepProfile:
        return msgspec.structs.replace(profile, **{k: getattr(profile, k) + v for k, v in seconds.items()})

    return change


def traffic(deployment: Deployment, change: Callable[[TrafficPlan], TrafficPlan]) -> None:
    """The server's own load goes on as ``change`` makes it."""
    deployment.traffic.plan = change(deployment.traffic.plan)


def stall(period_s: float, seconds: float, line: str = "", level: str = "WARNING") -> Apply:
    """Every ``period_s`` all engines stand still for ``seconds`` times the severity; ``line`` is what the log says."""

    def apply(deployment: Deployment, t: float, severity: float) -> None:
        def once(d: Deployment, now: float) -> None:
            for replica in d.replicas:
                replica.engine.pause += seconds * severity
            if line:
                d.log.line(now, line.format(ms=1000 * seconds * severity), level=level, process="EngineCore")
            d.at(now + period_s, once)

        once(deployment, t)

    return apply


def lengths(plan: TrafficPlan, prompt: float, output: float) -> TrafficPlan:
    def longer(span: tuple[int, int], by: float) -> tuple[int, int]:
        return max(int(span[0] * by), 1), max(int(span[1] * by), 1)

    mix = tuple(
        msgspec.structs.replace(c, prompt=longer(c.prompt, prompt), output=longer(c.output, output)) for c in plan.mix
    )
    return msgspec.structs.replace(plan, mix=mix)


def more(plan: TrafficPlan, by: float) -> TrafficPlan:
    return msgspec.structs.replace(plan, rate=plan.rate * by, clients=round(plan.clients * by))


def with_giants(plan: TrafficPlan, rate: float, tokens: int) -> TrafficPlan:
    """So many prompts of ``tokens`` a second on top of the load; a closed loop of clients has one in ten."""
    others = sum(c.share for c in plan.mix)
    share = others * (rate / plan.rate if plan.rate else 0.1)
    giant = LengthClass(share, (tokens, tokens), (16, 16))
    return msgspec.structs.replace(plan, mix=(*plan.mix, giant), rate=plan.rate + rate if plan.rate else 0.0)

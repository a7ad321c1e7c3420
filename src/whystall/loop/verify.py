"""The proof of a change on a server that is restarted between the two configurations, block by block."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from whystall.model.diagnosis import Diagnosis, Remedy
from whystall.model.recording import Recording
from whystall.model.slo import Slo
from whystall.model.trial import Metric, Trial, TrialArm
from whystall.sources.live.access import Access
from whystall.trials.arm import Arm
from whystall.trials.blocks import BlockResult
from whystall.trials.live_arm import live_arm
from whystall.trials.load.plan import LoadPlan
from whystall.trials.load.trace import Trace
from whystall.trials.rules import Rules, floors_of, promised_by
from whystall.trials.trial import Say, TrialSpec, run_trial

from .decision import primary_of
from .first_harm import first_harm, floors_of_means
from .observed_arm import Look, ObservedArm
from .own_load import plan_of
from .switch import Side, Switch

_WATCHED_BLOCK_S = 30.0  # the users' own load is less even than the same requests sent twice
_OWN_LOAD = "the users' own load"
# A server's histograms have buckets that are half as wide as their values: their means are exact, their quantiles not.
_EXACT: tuple[Metric, ...] = ("e2e_mean", "ttft_mean", "itl_mean", "tokens_per_s")
_EXACT_GUARDS: tuple[Metric, ...] = (*_EXACT, "errors", "output_tokens")


class TrialLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a proof may take (seconds of the target's clock), its blocks, and what was promised."""

    budget_s: float = 1800.0
    block_s: float | None = None
    slo: Slo | None = None
    seed: int = 1


class SwitchedArm:
    """One side of the server; ``inner`` puts it under load, whichever side it is on."""

    restarts = True

    def __init__(self, label: TrialArm, inner: Arm, switch: Switch, side: Side) -> None:
        self.label = label
        self._inner = inner
        self._switch = switch
        self._side: Side = side

    @property
    def now(self) -> float:
        return self._inner.now

    async def prepare(self) -> None:
        """Bring the server to this side."""
        await self._switch.to(self._side)

    async def block(self, trace: Trace, drain_s: float) -> BlockResult:
        """As the inner arm's."""
        return await self._inner.block(trace, drain_s)


class SendingVerifier:
    """Sends the incident's load again, the same requests to both sides."""

    def __init__(self, url: str, access: Access, limits: TrialLimits, say: Say, plan: LoadPlan | None = None) -> None:
        self.url = url
        self.access = access
        self.limits = limits
        self.say = say
        self.plan = plan

    async def __call__(self, switch: Switch, remedy: Remedy, recording: Recording, diagnosis: Diagnosis) -> Trial:
        plan = self.plan or plan_of(recording, diagnosis)
        async with live_arm(self.url, access=self.access) as inner:
            a, b = (SwitchedArm(label, inner, switch, side) for label, side in _sides(self.url, remedy))
            return await run_trial(a, b, spec_of(plan, remedy, self.limits, diagnosis), self.say)


class WatchingVerifier:
    """Sends nothing: looks at the users' own load under the one and the other configuration."""

    def __init__(self, url: str, look: Look, limits: TrialLimits, say: Say) -> None:
        self.url = url
        self.look = look
        self.limits = limits
        self.say = say

    async def __call__(self, switch: Switch, remedy: Remedy, recording: Recording, diagnosis: Diagnosis) -> Trial:
        arms = [ObservedArm(label, _bringing(switch, side), self.look) for label, side in _sides(self.url, remedy)]
        limits = msgspec.structs.replace(self.limits, block_s=self.limits.block_s or _WATCHED_BLOCK_S)
        spec = spec_of(LoadPlan(rate=1.0), remedy, limits, diagnosis)  # what a trace would be: only its length counts
        floors = floors_of_means(self.limits.slo) | (spec.rules.floors or {})
        primary = primary_of(remedy.prediction, _EXACT, diagnosis)
        promised: tuple[Metric, ...] = ("itl_mean",) if self.limits.slo and self.limits.slo.itl_p95_s else ()
        rules = msgspec.structs.replace(
            spec.rules, primary=primary, guarded=_EXACT_GUARDS, floors=floors, promised=promised
        )
        spec = msgspec.structs.replace(spec, rules=rules)
        trial = await run_trial(arms[0], arms[1], spec, self.say)
        return msgspec.structs.replace(trial, load=_OWN_LOAD)


def spec_of(plan: LoadPlan, remedy: Remedy, limits: TrialLimits, diagnosis: Diagnosis | None = None) -> TrialSpec:
    """What is to be shown of ``remedy``: the metric whose gain was predicted most surely, and no harm."""
    rules = Rules(
        primary=primary_of(remedy.prediction, diagnosis=diagnosis),
        restarts=True,
        floors=floors_of(limits.slo) if limits.slo is not None else None,
        promised=promised_by(limits.slo),
    )
    return TrialSpec(
        plan=plan,
        rules=rules,
        slo=limits.slo,
        budget_s=limits.budget_s,
        block_s=limits.block_s,
        seed=limits.seed,
        stop=first_harm(remedy.prediction, limits.slo),
    )


def _sides(url: str, remedy: Remedy) -> tuple[tuple[TrialArm, Side], tuple[TrialArm, Side]]:
    return (TrialArm(url), "before"), (TrialArm(url, dict(remedy.change)), "after")


def _bringing(switch: Switch, side: Side) -> Callable[[], Awaitable[None]]:
    return lambda: switch.to(side)

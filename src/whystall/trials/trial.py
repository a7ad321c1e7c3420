"""The A/B run: blocks of load in turn to A and B, looked at after every pair, until something is shown.

The order is ABBA, so that a drift of the machine falls on both alike. Both blocks of a pair send the same requests at
the same moments, with prefix caches kept apart; the pair is the unit that is counted, since requests within a block
hang together.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

import msgspec

from whystall.errors import Unavailable
from whystall.model.diagnosis import Notice
from whystall.model.slo import Slo
from whystall.model.text import Text
from whystall.model.trial import ArmName, Block, TokenAgreement, Trial, TrialVerdict, WarmUp

from .arm import Arm
from .blocks import BlockResult
from .load.findings import TAIL_REQUESTS, load_findings
from .load.plan import LoadPlan
from .rules import Judgement, Pair, Rules, judge
from .warmup import WINDOW_S, requests_per_s, slowest_e2e_s, warm_up

_E2E_PER_BLOCK = 3.0
_HEAD_SHARE = 1 / 3  # of a block: at most so much of it only fills the server that the block before has drained
_BLOCK_REQUESTS = 2 * TAIL_REQUESTS  # or a block's p95 is its largest value; a third may be its head
_WARM_SHARE = 0.1  # of the budget, for one arm's first warm-up
# Rounding moves near-ties, and a greedy answer leaves A's way some tokens in; noise from a broken kernel does at once.
_NOTHING_IN_COMMON = 0.1
_ORDER: tuple[tuple[ArmName, ArmName], ...] = (("a", "b"), ("b", "a"))
Say = Callable[[str], None]
Stop = Callable[[Block, Block], Text | None]
T = TypeVar("T")


def _never(_before: Block, _after: Block) -> Text | None:
    """For trials that only the sequence ends."""
    return None


class TrialSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What to send, what to show, and how much of the target's time it may take.

    ``stop`` is asked after every block of B, with A's last one before it: harm that is plain in one block, in words, ends
    the trial there. ``block_s`` None: 10 s, or what 40 requests take, or three times the slower arm's p95 E2E, whichever
    is longest.
    """

    plan: LoadPlan
    rules: Rules = Rules()
    slo: Slo | None = None
    budget_s: float = 900.0
    block_s: float | None = None
    seed: int = 1
    stop: Stop = _never


def _silent(_text: str) -> None:
    """For callers that want no progress."""


async def run_trial(
    a: Arm, b: Arm, spec: TrialSpec, say: Say = _silent, *, agreement: TokenAgreement | None = None
) -> Trial:
    """Try B against A. ``say`` hears a line after each pair; ``agreement`` is what was compared beforehand.

    That B cannot be reached, or does not start, is HARM. Raises :class:`~whystall.errors.Unavailable` where A is not
    there, :class:`~whystall.errors.UsageError` where the plan says no load.
    """
    spec.plan.check()
    run = _Run(a, b, spec, say)
    try:
        judgement = _other_answers(agreement) or await run.until_shown()
    except _Gone as gone:
        judgement = gone.judgement
    return msgspec.structs.replace(run.trial(judgement), token_agreement=agreement)


def _other_answers(agreement: TokenAgreement | None) -> Judgement | None:
    """HARM before any load where B's answers have next to nothing in common with A's: that is no rounding."""
    if agreement is None or agreement.leading_ratio >= _NOTHING_IN_COMMON * agreement.baseline_ratio:
        return None
    text = Text(
        "B answers otherwise: {b:.0%} of a greedy answer is as A's, where A repeats {a:.0%} of its own",
        "B 的回答不同：贪心回答仅 {b:.0%} 与 A 一致，而 A 自身可重复 {a:.0%}",
    )
    because = text.format(b=agreement.leading_ratio, a=agreement.baseline_ratio)
    return Judgement("HARM", because, (), ())


class _Gone(Exception):
    """B is not there any more, or does plain harm; what there is to say of it."""

    def __init__(self, judgement: Judgement) -> None:
        super().__init__()
        self.judgement = judgement


class _Run:
    """One trial's state."""

    def __init__(self, a: Arm, b: Arm, spec: TrialSpec, say: Say) -> None:
        self.arms: dict[ArmName, Arm] = {"a": a, "b": b}
        self.spec = spec
        self.say = say
        self.rules = msgspec.structs.replace(spec.rules, restarts=spec.rules.restarts or a.restarts or b.restarts)
        self.pairs: list[Pair] = []
        self.blocks: list[Block] = []
        self.results: dict[ArmName, list[BlockResult]] = {"a": [], "b": []}
        self.warm_ups: list[WarmUp] = []
        self.spent_s = 0.0
        self.started = self.ended = a.now
        self.block_s, self.head_s = spec.block_s or WINDOW_S, 0.0
        self._salts = count(spec.seed * 1_000_003)
        self._ready: ArmName | None = None  # whose turn it was last, where the arms share a server
        self._slowest_s: dict[ArmName, float] = {}
        self._rate = 0.0

    @property
    def _shared(self) -> bool:
        return self.arms["a"].restarts or self.arms["b"].restarts

    async def until_shown(self) -> Judgement:
        first: tuple[ArmName, ...] = ("a",) if self._shared else ("a", "b")  # a restart only for this costs too much
        for name in first:
            await self._guarded(name, self._make_ready(name))
        self._choose_block()
        self.say(f"warm after {self.spent_s:.0f} s; blocks of {self.block_s:.0f} s")
        before_s = self.spent_s
        while True:
            await self._pair()
            cost_s = (self.spent_s - before_s) / len(self.pairs)
            room = int((self.spec.budget_s - self.spent_s) / max(cost_s, 1e-9))
            judgement = judge(self.pairs, self.rules, total=len(self.pairs) + max(room, 0))
            self.say(f"pair {len(self.pairs)}: {judgement.verdict or 'going on'}: {judgement.because}")
            if judgement.verdict is not None:
                return judgement
            if room < 1:
                return _out_of_time(judgement)

    async def _pair(self) -> None:
        number = len(self.pairs)
        seed = self.spec.seed + 1 + number
        trace = self.spec.plan.trace(self.block_s, seed=seed, start=number * self.block_s)
        seen: dict[ArmName, Block] = {}
        for name in _ORDER[number % 2]:
            await self._guarded(name, self._make_ready(name))
            result = await self._guarded(name, self.arms[name].block(trace.salted(next(self._salts)), self.block_s))
            seen[name] = self._keep(number, name, result)
        self.pairs.append((seen["a"], seen["b"]))

    def _keep(self, pair: int, name: ArmName, result: BlockResult) -> Block:
        self.results[name].append(result)
        self._spend(result.seconds + result.drained_s)
        figures = result.figures(self.head_s, self.spec.slo)
        failed = int(result.failed.sum())
        block = Block(pair, name, result.started, result.seconds, result.requests, failed, figures, result.error)
        self.blocks.append(block)
        self._stop_at_plain_harm(block)
        return block

    def _stop_at_plain_harm(self, block: Block) -> None:
        before = next((b for b in reversed(self.blocks) if b.arm == "a"), None)
        why = self.spec.stop(before, block) if block.arm == "b" and before is not None else None
        if why is not None:
            seen = judge(self.pairs, self.rules)
            raise _Gone(Judgement("HARM", why, seen.effects, seen.guards))

    async def _make_ready(self, name: ArmName) -> None:
        """Warm the arm up: once, or where the arms share a server, whenever it was the other's before."""
        if self._ready == name if self._shared else name in self._slowest_s:
            return
        arm = self.arms[name]
        begun = arm.now
        await arm.prepare()
        self._spend(arm.now - begun)
        done, windows = await warm_up(
            name,
            arm,
            self.spec.plan,
            seed=self.spec.seed,
            salts=self._salts,
            most_s=max(self.spec.budget_s * _WARM_SHARE, 3 * WINDOW_S),
        )
        self._spend(done.seconds)
        self.warm_ups.append(done)
        self._ready = name
        self._slowest_s[name] = slowest_e2e_s(windows)
        self._rate = max(self._rate, requests_per_s(windows))

    def _spend(self, seconds: float) -> None:
        self.spent_s += seconds
        self.ended = max(self.ended, self.arms["a"].now, self.arms["b"].now)

    def _choose_block(self) -> None:
        slowest = max(self._slowest_s.values())
        if self.spec.block_s is None:
            # Enough pairs must fit into the time, whatever a server that is overloaded makes of E2E.
            most = (self.spec.budget_s - self.spent_s) / (4 * self.rules.least_pairs)
            tail = _BLOCK_REQUESTS / max(self._rate, 1e-9)
            self.block_s = max(WINDOW_S, min(max(_E2E_PER_BLOCK * slowest, tail), most))
        self.head_s = min(slowest, self.block_s * _HEAD_SHARE)

    async def _guarded(self, name: ArmName, work: Awaitable[T]) -> T:
        try:
            return await work
        except Unavailable as error:
            if name == "a":
                raise
            text = Text("B is not there: {why}", "B 不可用：{why}").format(why=error.message)
            seen = judge(self.pairs, self.rules)
            raise _Gone(Judgement("HARM", text, seen.effects, seen.guards)) from error

    def trial(self, judgement: Judgement) -> Trial:
        """What was seen, as the noun."""
        verdict: TrialVerdict = judgement.verdict or "INCONCLUSIVE"
        return Trial(
            a=self.arms["a"].label,
            b=self.arms["b"].label,
            verdict=verdict,
            because=judgement.because,
            primary=self.rules.primary,
            minimum_effect=self.rules.effect,
            effects=judgement.effects,
            guards=judgement.guards,
            blocks=tuple(self.blocks),
            pairs=len(self.pairs),
            seconds=self.spent_s,
            block_seconds=self.block_s,
            started=self.started,
            ended=self.ended,
            alpha=self.rules.alpha,
            design="restarts" if self.rules.restarts else "interleaved",
            load=self.spec.plan.describe(),
            warm_up=tuple(self.warm_ups),
            findings=tuple(self._findings()),
        )

    def _findings(self) -> list[Notice]:
        found = load_findings(self.spec.plan, self.results["a"], self.results["b"], self.head_s)
        cold = sorted({done.arm.upper() for done in self.warm_ups if not done.settled})
        if cold:
            text = Text(
                "{arms} had not settled when the warm-up's time was over: early blocks may be cold",
                "预热时间结束时 {arms} 尚未稳定：最初的区块可能未预热",
            )
            found.append(Notice("not_warm", text.format(arms=", ".join(cold))))
        return found


def _out_of_time(judgement: Judgement) -> Judgement:
    text = Text("the time is up: {because}", "时间已用完：{because}").format(because=judgement.because)
    return msgspec.structs.replace(judgement, verdict="INCONCLUSIVE", because=text)

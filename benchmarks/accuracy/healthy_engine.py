"""An emulated engine that is well, and the emulator's own record of when its users felt something after all."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import numpy as np
from corpus_cases import LOADS, PROFILES, WORKLOADS, Case, serving

from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.request import Request
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults.mechanism import lengths, traffic
from whystall.emulator.server.meters import Meters
from whystall.evidence.thresholds import level

START = 1_790_000_000.0
_BEFORE_S = 300.0  # with which the watch compares
BIN_S = 5.0  # an incident stays for as long (evidence/thresholds.py, episode_min)
# What goes on: nothing; a load that goes up and down; waves of some seconds' requests at once; new versions; a cache that
# starts anew; lengths that shift by a fifth; a network that loses pages.
SHAPES = ("steady", "swing", "waves", "deploy", "flush", "drift", "lost")


class Scenario(msgspec.Struct, frozen=True):
    """One engine's time: what it runs on, what is asked of it, what goes on."""

    profile: str
    workload: str
    load: float
    shape: str
    seed: int
    swing: float = 0.0
    period_s: float = 300.0
    minutes: float = 30.0

    @property
    def key(self) -> str:
        swing = f" ±{self.swing:.0%}/{self.period_s:.0f}s" if self.swing else ""
        return f"{self.profile} {self.workload} {self.load} {self.shape}{swing} seed {self.seed}"


def drawn(seed: int, minutes: float) -> Iterator[Scenario]:
    """Without end: every hardware profile, workload, load and shape alike often."""
    chance = random.Random(f"healthy/{seed}")
    profiles = [name for names in PROFILES.values() for name in names]
    while True:
        shape = chance.choice(SHAPES)
        yield Scenario(
            profile=chance.choice(profiles),
            workload=chance.choice(list(WORKLOADS)),
            load=chance.choice(LOADS),
            shape=shape,
            seed=chance.randrange(1, 1 << 30),
            swing=round(chance.uniform(0.1, 0.45), 2) if shape == "swing" else 0.0,
            period_s=round(np.exp(chance.uniform(np.log(60), np.log(1800)))),
            minutes=minutes,
        )


class HealthyEngine:
    """The server of a scenario on emulated time, with ``felt`` seconds by bins of ``BIN_S``."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.seconds = 60 * scenario.minutes
        case = Case("healthy", scenario.profile, scenario.workload, scenario.load, scenario.seed)
        plain = serving(case)
        plan = msgspec.structs.replace(plain.traffic, swing=scenario.swing, period_s=scenario.period_s)
        self.serving = msgspec.structs.replace(plain, traffic=plan)
        self.deployment = Deployment(self.serving, start=START)
        bins = int(self.seconds / BIN_S) + 2
        self.wait, self.first, self.arrived = (np.zeros(bins) for _ in range(3))
        self.late, self.tokens, self.alone, self.longest, self.halts = (np.zeros(bins) for _ in range(5))
        self.away = np.zeros(bins, dtype=bool)
        self.deployment.on_end = self._ended
        self._steps_seen: dict[Engine, int] = {}
        self._watched: list[Meters] = []
        self._alone = 0.0  # seconds of a step without prompts, lately
        self._plan_events(random.Random(scenario.seed))

    # -- what goes on

    def _plan_events(self, chance: random.Random) -> None:
        shape, t = self.scenario.shape, 0.0
        while shape in ("waves", "deploy", "flush", "drift"):
            t += chance.uniform(60, 240) if shape == "waves" else chance.uniform(200, 600)
            if t > self.seconds:
                break
            getattr(self, f"_{shape}")(START + t, chance)

    def _waves(self, t: float, chance: random.Random) -> None:
        """What comes in one to four seconds comes at once."""
        count = round(chance.uniform(1.0, 4.0) * self.serving.traffic.rate)
        mix = self.serving.traffic.mix
        kinds = chance.choices(mix, [kind.share for kind in mix], k=count)

        def come(deployment: Deployment, now: float) -> None:
            for kind in kinds:
                deployment.traffic.also(kind, now)

        self.deployment.at(t, come)

    def _deploy(self, t: float, chance: random.Random) -> None:
        down = chance.uniform(5, 40)
        self.deployment.at(t, lambda d, now: d.restart(d.serving, now, down_s=down))
        first, last = int((t - START) / BIN_S), int((t + down - START) / BIN_S)
        self.away[max(first - 1, 0) : last + 2] = True

    def _flush(self, t: float, chance: random.Random) -> None:
        name = f"after flush {t}"

        def other(plan: Any) -> Any:
            return msgspec.structs.replace(plan, mix=tuple(msgspec.structs.replace(c, prefix=name) for c in plan.mix))

        self.deployment.at(t, lambda d, _now: traffic(d, other))

    def _drift(self, t: float, chance: random.Random) -> None:
        prompts, outputs = chance.uniform(0.85, 1.2), chance.uniform(0.85, 1.2)
        mix = lengths(self.serving.traffic, prompts, outputs).mix  # of the first lengths: no walk away from them
        self.deployment.at(t, lambda d, _now: traffic(d, lambda plan: msgspec.structs.replace(plan, mix=mix)))

    # -- what its users felt

    def _ended(self, request: Request, _t: float) -> None:
        if request.scheduled == request.scheduled:
            place = min(int((request.arrival - START) / BIN_S), len(self.wait) - 1)
            self.wait[place] += request.scheduled - request.arrival
            self.first[place] += request.first_token - request.arrival
            self.arrived[place] += 1

    def advance(self, t: float) -> None:
        """Let the engine run up to ``t`` seconds, and note its steps."""
        self._watch()
        self.deployment.advance(START + t)
        for replica in self.deployment.replicas:
            self._note(replica.engine)

    def _watch(self) -> None:
        """Look at what the meters take in: they empty the journal, and after a restart they are others."""
        for meters in (replica.meters for replica in self.deployment.replicas):
            if meters not in self._watched:
                self._watched.append(meters)
                meters.absorb = partial(self._absorbed, meters, meters.absorb)  # type: ignore[method-assign]

    def _absorbed(self, meters: Meters, absorb: Callable[[], None]) -> None:
        """Tokens that came after a step was left out: they came late, and are no step's."""
        journal = meters.engine.journal
        place = np.clip(((np.asarray(journal.odd_t) - START) / BIN_S).astype(int), 0, len(self.late) - 1)
        np.add.at(self.late, place, np.asarray(journal.odd_gap))
        np.add.at(self.halts, place, _halts(np.asarray(journal.odd_gap)))
        np.add.at(self.tokens, place, 1.0)
        np.add.at(self.alone, place, self._alone)
        absorb()

    def _note(self, engine: Engine) -> None:
        journal = engine.journal
        first = self._steps_seen.get(engine, 0) - journal.dropped
        self._steps_seen[engine] = journal.dropped + len(journal.end)
        if first >= len(journal.end):
            return
        end, gap, regular, running = (
            np.asarray(getattr(journal, n)[max(first, 0) :]) for n in ("end", "gap", "regular", "running")
        )
        place = np.clip(((end - START) / BIN_S).astype(int), 0, len(self.late) - 1)
        fixed, slope, least, _ = engine.clock.decode_line(max(int(running.mean()), 1))
        context = slope * running * self._context()
        self._alone = float(np.maximum(fixed + context, least).mean())
        np.add.at(self.late, place, gap * regular)
        np.add.at(self.tokens, place, regular)
        np.add.at(self.alone, place, np.maximum(fixed + context, least) * regular)
        np.maximum.at(self.longest, place, np.where(regular > 0, gap, 0.0))
        np.add.at(self.halts, place, _halts(gap) * regular)

    def _context(self) -> float:
        mix = self.serving.traffic.mix
        return sum(c.share * (sum(c.prompt) / 2 + sum(c.output) / 4) for c in mix) / sum(c.share for c in mix)

    def page(self) -> bytes:
        """Its page as of now, empty while it does not answer."""
        deployment = self.deployment
        return deployment.page().encode() if deployment.alive and deployment.now >= deployment.ready_at else b""

    def felt(self) -> np.ndarray:
        """Bins in which users felt a loss (DESIGN.md, SLO).

        A mean wait over 200 ms; first tokens that grew late; an ITL over 25 ms that would gain a fifth without other
        people's prompts, or twice it; a gap of a second and more, or ``episode_tokens`` halts of ``felt_gap``: what that
        many streams notice is felt, however many tokens came in time around it; no server at all.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            wait = np.where(self.arrived > 0, self.wait / self.arrived, 0.0)
            itl, alone = self.late / self.tokens, self.alone / self.tokens
        late = (itl > level("felt_itl")) & (itl * (1 - level("gain")) > alone)
        halted = (self.longest > 1.0) | (self.halts >= level("episode_tokens"))
        return np.asarray((wait > level("felt_wait")) | self._grown() | np.nan_to_num(late) | halted | self.away)

    def _grown(self) -> np.ndarray:
        """Bins around which first tokens came late, as longer prompts or a lost cache make them: over ``late_min`` their
        mean is above a felt wait and twice what it was in the five minutes before (the median of the bins)."""
        near, before = round(level("late_min") / BIN_S), round(_BEFORE_S / BIN_S)
        grown = np.zeros(len(self.first), dtype=bool)
        for last in range(2 * near, len(self.first) + 1):
            at, past = slice(last - near, last), slice(max(last - near - before, 0), last - near)
            seen = self.arrived[past] > 0
            if seen.sum() >= near and self.arrived[at].sum() >= level("baseline_requests"):
                usual = float(np.median(self.first[past][seen] / self.arrived[past][seen]))
                mean = self.first[at].sum() / self.arrived[at].sum()
                grown[at] |= bool(mean > max(level("felt_wait"), level("slow_factor") * usual))
        return grown

    def felt_seconds(self, felt: np.ndarray, start: float, stop: float) -> float:
        """Seconds of [``start``, ``stop``] that lie in felt bins."""
        return BIN_S * float(felt[max(int(start / BIN_S), 0) : int(np.ceil(stop / BIN_S))].sum())


def _halts(gap: np.ndarray) -> np.ndarray:
    """How often somebody notices a gap between two tokens: a halt of two seconds is four of half a second."""
    return np.where(gap >= level("felt_gap"), gap / level("felt_gap"), 0.0)

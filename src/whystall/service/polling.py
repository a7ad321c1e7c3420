"""Engines that a Prometheus scrapes: asked for what is new, again and again, and taken as if we had scraped it."""

from __future__ import annotations

import msgspec
import numpy as np

from whystall.errors import TooLittleData, WhystallError
from whystall.model.recording import Recording, SeriesKey
from whystall.sources.exposition import Page
from whystall.sources.prometheus.question import parse_question
from whystall.sources.prometheus.reader import dropped, read_prometheus, scraped

from .rounds import Rounds

OVERLAP_S = 30.0  # a sample may come late, and the one before is needed to see that nothing is missing
SILENT_S = 60.0  # an instance without samples for that long, which four scrapes at 15 s are, gives no page


class _Instance:
    """What was taken of one instance so far."""

    def __init__(self, instance: str) -> None:
        self.keys: list[SeriesKey] = []
        self.place: dict[SeriesKey, int] = {}
        self.last = float("-inf")
        self.instance = instance

    def ids(self, keys: tuple[SeriesKey, ...]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        for key in keys:
            if self.place.setdefault(key, len(self.keys)) == len(self.keys):
                self.keys.append(key)
        return np.array([self.place[key] for key in keys], dtype=np.int64)


class Polling:
    """The loop of one Prometheus target. ``run`` ends only when it is cancelled."""

    def __init__(self, rounds: Rounds, window_s: float) -> None:
        self._rounds = rounds
        self._target = rounds.target
        self._question = parse_question(rounds.target.target)
        self._window_s = window_s
        self._taker = rounds.taker
        self._known: dict[str, _Instance] = {}
        self._asked = float("-inf")
        self._settled = False  # nothing is open any more of whoever left before this began

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.once()
            await self._rounds.pause()

    async def once(self) -> None:
        """Ask once for what is new, the whole window at first."""
        now = self._rounds.now()
        span = min(self._window_s, now - self._asked + OVERLAP_S)
        question = msgspec.structs.replace(self._question, end=now)
        found: dict[str, Recording] = {}
        try:
            found = await read_prometheus(question, span, self._target.access, self._target.name)
        except TooLittleData as error:
            await self._settle(now)
            if not self._known:
                self._rounds.failed(type(error).__name__, error.message)
                return  # else it answers, and has nothing new of anybody
        except WhystallError as error:
            self._rounds.failed(type(error).__name__, error.message)
            return
        self._asked = now
        self._rounds.answered()
        for instance, recording in found.items():
            self._take(instance, recording)
        await self._silent(now)
        await self._settle(now)

    def _take(self, instance: str, recording: Recording) -> None:
        name = self._rounds.name(instance)
        if name not in self._known:
            self._known[name] = _Instance(instance)
            text = f"{self._question.address.base} {instance}"
            self._taker.found(name, msgspec.structs.replace(self._target, name=name, target=text))
        self._taker.told(name, recording)
        known, table = self._known[name], recording.metrics
        ids = known.ids(table.keys)
        for place in np.flatnonzero(table.times > known.last).tolist():
            values = table.values[:, place]
            there = np.isfinite(values)
            self._taker.page(name, float(table.times[place]), Page(ids[there], values[there], table.types), known.keys)
        if len(table.times):
            known.last = max(known.last, float(table.times[-1]))

    async def _silent(self, now: float) -> None:
        """Who has no new samples gives no page, or is no more."""
        silent = [name for name, known in self._known.items() if now - known.last > SILENT_S]
        gone = await self._dropped({self._known[name].instance for name in silent}, now) if silent else set()
        for name in silent:
            if self._known[name].instance in gone:
                del self._known[name]
                self._taker.gone(name, now)
            else:
                self._taker.failed(name, now, "NoSamples", "Prometheus has no new samples of it")

    async def _dropped(self, instances: set[str], now: float) -> set[str]:
        try:
            return await dropped(self._question, instances, now, self._target.access)
        except WhystallError:  # without an answer nobody is said to be gone
            return set()

    async def _settle(self, now: float) -> None:
        """Nothing stays open of whoever left while nobody watched: who has no ``up``, not after a minute, either.

        A minute, because a Prometheus that was started just now has not scraped everybody yet.
        """
        if self._settled or self._rounds.seen_for() < SILENT_S:
            return
        try:
            there = await scraped(self._question, now, self._target.access)
        except WhystallError:
            return  # asked again with the next round
        self._settled = True
        alive = {known.instance for known in self._known.values() if now - known.last <= SILENT_S}
        if there and alive <= there:  # else these are no targets of its own, and it knows nothing of who is there
            self._rounds.only({*self._known, *map(self._rounds.name, there)})

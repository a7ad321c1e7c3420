"""The rounds in which one target is asked who stands behind it: a Prometheus, a Ray cluster, a Deployment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

from .members import Members
from .scraping import Taker, pause_s
from .target import WatchTarget, short_name

DISCOVERY_S = 15.0  # how often an API server or a Ray dashboard is asked who is there


class Rounds:
    """What every such loop has: the target, who takes what it tells, when it is asked again, who runs because of it.

    ``failures`` counts the rounds in a row that gave nothing; the pauses grow with it.
    """

    def __init__(
        self,
        target: WatchTarget,
        interval_s: float,
        taker: Taker,
        every_s: float | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.target = target
        self.interval_s = interval_s
        self.taker = taker
        self.now = now
        self.members = Members()
        self.failures = 0
        self._every_s = DISCOVERY_S if every_s is None else every_s
        self._first: float | None = None

    def name(self, of: str) -> str:
        """Under which a server behind the target is watched."""
        return f"{self.target.name}~{short_name(of)}"

    def answered(self) -> None:
        """A round told who is there."""
        self.failures = 0
        self.taker.back(self.target.name, self.now())

    def failed(self, error: str, text: str) -> None:
        """A round told nothing: the error's name, and what it says."""
        self.failures += 1
        self.taker.failed(self.target.name, self.now(), error, text)

    def only(self, members: Collection[str]) -> None:
        """``members`` are all that stand behind the target now."""
        self.taker.only(self.target.name, members, self.now())

    def seen_for(self) -> float:
        """Seconds since this was asked first: for how long somebody looked who is there."""
        now = self.now()
        self._first = now if self._first is None else self._first
        return now - self._first

    async def pause(self) -> None:
        """Until the next round."""
        await asyncio.sleep(pause_s(self._every_s, self.failures))

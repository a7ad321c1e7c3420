"""Switches a server between the configuration it had and the planned one, and notes each move before it is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from whystall.errors import ChangeFailed
from whystall.model.change import Change, ChangeState
from whystall.trials.actuators.actuator import Actuator, Plan, Readiness
from whystall.trials.journal import Journal

Side = Literal["before", "after"]
Pause = Callable[[str], None]


def go_on(_step: str) -> None:
    """For callers that stop nowhere."""


class Switch:
    """One change of one server. ``at`` is the side it stands on; the journal knows it before the server does.

    ``pause`` is called with the name of each step before it is taken: a test kills the process there.
    """

    def __init__(self, actuator: Actuator, plan: Plan, change: Change, journal: Journal, pause: Pause = go_on) -> None:
        self.actuator = actuator
        self.plan = plan
        self.journal = journal
        self.pause = pause
        self.at: Side = "before"
        self.moves = 0
        self.pause("planned")
        self.change = journal.write(change, "planned")

    async def to(self, side: Side) -> None:
        """Bring the server to ``side`` and wait until it serves. Raises ChangeFailed where it does not."""
        if side == self.at:
            return
        forward = side == "after"
        self._note("applying" if forward and not self.moves else "verifying", f"towards {side}")
        self.moves += 1
        self.pause(f"moving_{side}")
        await self._move(side)
        self.pause(f"moved_{side}")
        ready = await self.actuator.healthy()
        if not ready.ok:
            raise _not_up(self.actuator.target, ready)
        self.at = side
        self._note("applied" if forward and self.moves == 1 else "verifying", f"at {side}")
        self.pause(f"at_{side}")

    async def keep(self, reason: str) -> Change:
        """The planned configuration stands, for good."""
        await self.to("after")
        self._note("kept", reason)
        self.pause("kept")
        return self.change

    async def take_back(self, reason: str) -> Change:
        """The configuration of before stands, whatever state the server is in; it ends ``failed`` where it does not."""
        self._note("rolling_back", reason)
        self.pause("rolling_back")
        try:
            await self.actuator.roll_back(self.plan.before)
            self.pause("rolled_back")
            ready = await self.actuator.healthy()
        except ChangeFailed as error:
            ready = Readiness(False, error.message)
        self.at = "before"
        self._note("rolled_back" if ready.ok else "failed", reason if ready.ok else f"{reason}; {ready.reason}")
        return self.change

    async def _move(self, side: Side) -> None:
        if side == "after":
            await self.actuator.apply(self.plan)
        else:
            await self.actuator.roll_back(self.plan.before)

    def _note(self, state: ChangeState, reason: str) -> None:
        self.change = self.journal.write(self.change, state, reason)


def _not_up(target: str, ready: Readiness) -> ChangeFailed:
    why = "it ran out of memory" if ready.oom else "it did not come up"
    return ChangeFailed(f"{target}: {why}: {ready.reason}", "It is put back as it was.")

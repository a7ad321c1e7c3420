"""The two sides of a trial: anything that can be put under a block of load."""

from __future__ import annotations

from typing import Protocol

from whystall.model.trial import TrialArm

from .blocks import BlockResult
from .load.trace import Trace


class Arm(Protocol):
    """One side. ``label`` is what the trial's report calls it; ``now`` is unix seconds on its clock.

    ``restarts``: the server behind it serves the other arm too and has to be restarted for this one, which
    :meth:`prepare` does before a block that follows the other arm's. Arms that are there all the time do nothing in it.
    Both methods may raise :class:`~whystall.errors.Unavailable`: the arm is not there.
    """

    label: TrialArm
    restarts: bool

    @property
    def now(self) -> float: ...

    async def prepare(self) -> None:
        """Make the server this arm's, healthy and ready for load."""

    async def block(self, trace: Trace, drain_s: float) -> BlockResult:
        """Send ``trace``, wait up to ``drain_s`` for the last answers, and return what its requests saw."""

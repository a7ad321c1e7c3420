"""What a run of the loop did: from the diagnosis to a change that was kept, taken back or not made.

Field names are the published JSON contract.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .change import Change
from .cost import Cost
from .diagnosis import Cause, Diagnosis, Remedy
from .prediction import Range
from .text import Text
from .trial import Trial

FixState = Literal["healthy", "unknown", "no_remedy", "planned", "written", "kept", "rolled_back", "failed"]


class FixStep(msgspec.Struct, frozen=True):
    """Something that the loop did: which step, when (unix seconds), and what in words."""

    id: str
    at: float
    text: Text


class Improvement(msgspec.Struct, frozen=True):
    """What the change did, in percent: -30 is 30% less. None where the windows are too thin to divide by.

    ``latency_percent`` is of the mean time of a whole request, ``throughput_percent`` of generated tokens a second;
    ``low`` to ``high`` is the trial's always-valid interval.
    """

    latency_percent: Range | None = None
    throughput_percent: Range | None = None


class Rechecked(msgspec.Struct, frozen=True):
    """A kept case that was looked at again: whether it came back (and is open again), and what was seen."""

    case: int
    came_back: bool
    text: Text


class Fix(msgspec.Struct, frozen=True):
    """``suggestions`` are the diagnosis' remedies with what each is predicted to do, the first the best.

    ``remedy`` is the one that was chosen, ``change`` what it is on this server, ``after`` what a second look said once
    the change was kept. ``state``: ``planned`` is a dry run, ``written`` a patch for somebody else to merge, ``failed``
    a change that could be neither made nor taken back by itself. ``case`` is 0 where none was written. ``rechecked``:
    earlier cases of the target whose kept change was looked at again. ``cost`` is None where no price was given.
    """

    target: str
    state: FixState
    because: Text
    diagnosis: Diagnosis | None = None
    suggestions: tuple[Remedy, ...] = ()
    remedy: Remedy | None = None
    change: Change | None = None
    trial: Trial | None = None
    improvement: Improvement | None = None
    after: Diagnosis | None = None
    steps: tuple[FixStep, ...] = ()
    case: int = 0
    rechecked: tuple[Rechecked, ...] = ()
    cost: Cost | None = None
    schema: Literal["whystall.fix/1"] = "whystall.fix/1"

    @property
    def anomalies(self) -> tuple[str, ...]:
        """Ids of the evidence that departs from the server's own baseline."""
        return self.diagnosis.anomalies if self.diagnosis else ()

    @property
    def root_causes(self) -> tuple[Cause, ...]:
        """The causes, the most probable first."""
        return self.diagnosis.causes if self.diagnosis else ()

"""Trouble of one engine that is watched, from its begin to its end. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .diagnosis import Diagnosis, Engine, Verdict
from .suggestion import Suggestion
from .text import Text

# warning: nothing hurts yet, but will soon; open: it hurts; recovered: it is over.
IncidentState = Literal["warning", "open", "recovered"]
# limit: what the diagnosis found; unreachable: no page; slo: the promise burns without a limit that was found.
IncidentKind = Literal["limit", "unreachable", "slo"]
IncidentStepId = Literal["began", "warned", "opened", "cause", "suggested", "silenced", "recovered", "left", "kept"]


class IncidentStep(msgspec.Struct, frozen=True):
    """Something that happened to an incident: when (unix seconds on the server's clock), and what in words."""

    id: IncidentStepId
    at: float
    text: Text


class Forecast(msgspec.Struct, frozen=True):
    """What will be full when, at the slope of the last minutes. ``in_s`` is seconds from ``at`` (unix seconds).

    ``limit`` is ``kv_blocks`` or ``seats``; ``level`` and ``slope_per_s`` are shares of it.
    """

    limit: str
    in_s: float
    at: float
    level: float
    slope_per_s: float
    text: Text


class Burn(msgspec.Struct, frozen=True):
    """How fast a promise is used up: 1.0 uses up exactly what it allows. None where too few requests were seen."""

    promise: str
    short: float | None  # over the last 5 minutes
    long: float | None  # over the last hour


class Incident(msgspec.Struct, frozen=True):
    """One trouble of one engine. ``id`` counts from 1 in one store, ``uid`` is the same for every receiver of notices.

    ``since`` is when it began, as far as it was seen, ``opened`` when it was known, ``recovered`` when it ended (None
    while it lasts), all unix seconds on the server's clock. ``cause`` is the id of the first cause, "" where none was
    found; ``causes`` all that were named. ``diagnosis`` is the one that saw it begin, None where nothing could be read.
    ``suggestion`` is what the dry run of a fix says of what is foreseen, None where none was made.
    ``case`` is its number in the book of cases, 0 until it has one. ``silenced`` says why nobody is told, "" where
    somebody is.
    """

    uid: str
    key: str  # engine and kind of trouble: there is one incident at a time of each
    engine_id: str  # as in the fleet
    target: str
    engine: Engine
    kind: IncidentKind
    state: IncidentState
    verdict: Verdict
    headline: Text
    since: float
    opened: float
    updated: float
    id: int = 0
    recovered: float | None = None
    cause: str = ""
    causes: tuple[str, ...] = ()
    first_step: Text = msgspec.field(default_factory=lambda: Text(""))
    forecast: Forecast | None = None
    burn: tuple[Burn, ...] = ()
    steps: tuple[IncidentStep, ...] = ()
    silenced: str = ""
    case: int = 0
    diagnosis: Diagnosis | None = None
    suggestion: Suggestion | None = None
    schema: Literal["whystall.incident/1"] = "whystall.incident/1"

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self.state == "recovered"

    @property
    def left(self) -> bool:
        """Whether it is over because the engine is there, or watched, no more: nobody saw it recover."""
        return self.ended and any(step.id == "left" for step in self.steps)


class IncidentList(msgspec.Struct, frozen=True):
    """The incidents of a store, the newest first; each without its diagnosis."""

    incidents: tuple[Incident, ...]
    schema: Literal["whystall.incidents/1"] = "whystall.incidents/1"


class Happening(msgspec.Struct, frozen=True):
    """What became of an incident just now: one event of the stream, one line of the terminal, one notice."""

    what: Literal["opened", "updated", "recovered"]
    incident: Incident
    schema: Literal["whystall.happening/1"] = "whystall.happening/1"

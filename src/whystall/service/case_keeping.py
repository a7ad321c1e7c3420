"""An incident that is over becomes a case in the book."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from whystall.cases.book import Book
from whystall.cases.opening import case_of
from whystall.model.case import Case, CaseStep, StepId
from whystall.model.incident import Incident, IncidentStepId

_STEPS: dict[IncidentStepId, StepId] = {
    "began": "began",
    "opened": "diagnosed",
    "cause": "diagnosed",
    "recovered": "closed",
}


def case_of_incident(incident: Incident) -> Case | None:
    """The case of an incident that is over; None where nothing was diagnosed, or nothing came of a warning."""
    if incident.diagnosis is None or incident.recovered is None or incident.cause == "":
        return None
    steps = [CaseStep(_STEPS[s.id], s.at, s.text) for s in incident.steps if s.id in _STEPS]
    return replace(
        case_of(incident.diagnosis, incident.opened, "watch"),
        uid=incident.uid,
        closed=incident.recovered,
        outcome="recovered",
        steps=tuple(steps),
    )


def keep_case(incident: Incident, path: Path) -> int:
    """Write the incident into the book at ``path``, once; its number, 0 where it is no case. Raises what the book does."""
    case = case_of_incident(incident)
    if case is None:
        return 0
    with Book.open(path) as book:
        here = book.find(case.uid)
        return book.add(case).id if here is None else here

"""An incident that is over becomes a case in the book."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from whystall.cases.book import Book
from whystall.cases.coming_back import is_back, kept_on, opened_again
from whystall.cases.opening import case_of
from whystall.model.case import Case, CaseStep, StepId
from whystall.model.incident import Incident, IncidentStepId
from whystall.model.text import Text

_CAME_BACK = Text("came back: {headline}", "复发：{headline}")
_STEPS: dict[IncidentStepId, StepId] = {
    "began": "began",
    "opened": "diagnosed",
    "cause": "diagnosed",
    "recovered": "closed",
    "left": "closed",
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
        if here is not None:
            return here
        _open_again(book, case)
        return book.add(case).id


def _open_again(book: Book, case: Case) -> None:
    """Cases of the target whose kept change was to have ended this: it came back."""
    for kept in kept_on(book, case.target):
        if (kept.closed or kept.opened) < case.opened and is_back(kept, case.signature.causes.items()):
            book.update(opened_again(kept, case.opened, _CAME_BACK.format(headline=case.headline)))

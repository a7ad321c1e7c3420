"""A change that was kept, looked at again: it holds, or its case comes back and is opened again."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from whystall.model.case import Case, CaseStep
from whystall.model.text import Text

from .book import Book

DAY_S = 86_400.0  # a day has every hour's load once
_SEEN_AGAIN = 0.5  # the cause is likelier back than not


def kept_on(book: Book, target: str) -> list[Case]:
    """Cases of ``target`` whose change was kept and stands, the oldest first. Examples are nobody's server."""
    kept = (case for case in book.cases() if case.outcome == "kept" and case.remedy is not None)
    return sorted((case for case in kept if case.target == target and case.origin != "example"), key=lambda c: c.opened)


def is_due(case: Case, now: float) -> bool:
    """Whether nobody has looked at it for a day."""
    looks = [case.closed or case.opened, *(step.at for step in case.steps if step.id == "checked")]
    return now - max(looks) >= DAY_S


def is_back(case: Case, causes: Iterable[tuple[str, float]]) -> bool:
    """Whether the surest cause of ``case`` is one of ``causes`` (ids with probabilities) again."""
    was = max(case.signature.causes, key=lambda id: case.signature.causes[id], default="")
    return any(id == was and probability >= _SEEN_AGAIN for id, probability in causes)


def held(case: Case, now: float, text: Text) -> Case:
    """The case with a look that found nothing."""
    return msgspec.structs.replace(case, steps=(*case.steps, CaseStep("checked", now, text)))


def opened_again(case: Case, now: float, text: Text) -> Case:
    """The case open again: its remedy counts as one that did not help."""
    steps = (*case.steps, CaseStep("reopened", now, text))
    return msgspec.structs.replace(case, outcome="open", closed=None, steps=steps)

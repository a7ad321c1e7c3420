"""The chain of whys: each link with the check that must hold."""

from __future__ import annotations

from whystall.model.diagnosis import Evidence, Why
from whystall.model.text import Text

from .entry import CauseEntry


def chain(cause: CauseEntry, evidence: dict[str, Evidence]) -> tuple[Why, ...] | None:
    """The links whose checks hold, symptom first. None when a link that must hold does not: then it is no such cause."""
    whys: list[Why] = []
    for link in cause.links:
        if all(need.evidence in evidence and need.holds(evidence[need.evidence].strength) for need in link.needs):
            names = tuple(need.evidence for need in link.needs)
            whys.append(Why(filled(link.claim, evidence), names, True, link.rejects))
        elif not link.optional:
            return None
    return tuple(whys) if whys else None


def filled(text: Text, evidence: dict[str, Evidence]) -> Text:
    """A template of a cause file with the evidence's texts put in for their ids (dots as underscores)."""
    return text.format(**{name.replace(".", "_"): found.text for name, found in evidence.items()})

"""The chain of whys: each link with the check that must hold."""

from __future__ import annotations

from typing import NamedTuple

from whystall.model.diagnosis import Evidence, Why
from whystall.model.text import Text

from .entry import CauseEntry, Link


class Chain(NamedTuple):
    """The links that hold, symptom first; ``complete`` is False where evidence for a link that must hold was not seen."""

    whys: tuple[Why, ...]
    complete: bool


def chain(cause: CauseEntry, evidence: dict[str, Evidence]) -> Chain | None:
    """The chain of a cause, or where it is not complete the first other one that is.

    None when a link that must hold was checked and does not, and no other chain stands: then it is no such cause.
    """
    found = _stands(cause.links, evidence)
    if found is not None and found.complete:
        return found
    others = (_stands(links, evidence) for links in cause.other_links)
    return next((stands for stands in others if stands is not None and stands.complete), found)


def _stands(links: tuple[Link, ...], evidence: dict[str, Evidence]) -> Chain | None:
    """One chain. None when a link that must hold was checked and does not: then it is no such cause."""
    whys: list[Why] = []
    complete = True
    for link in links:
        names = tuple(need.evidence for need in link.needs)
        if not all(name in evidence for name in names):
            complete &= link.optional or link.if_seen
        elif all(need.holds(evidence[need.evidence].strength) for need in link.needs):
            whys.append(Why(filled(link.claim, evidence), names, True, link.rejects))
        elif not link.optional:
            return None
    return Chain(tuple(whys), complete) if whys else None


def filled(text: Text, evidence: dict[str, Evidence]) -> Text:
    """A template of a cause file with the evidence's texts put in for their ids (dots as underscores)."""
    return text.format(**{name.replace(".", "_"): found.text for name, found in evidence.items()})

"""How often a remedy helped, in the cases that are kept."""

from __future__ import annotations

from collections.abc import Iterable

from whystall.model.case import CaseSummary
from whystall.model.diagnosis import Tried


def success(kept: Iterable[CaseSummary]) -> dict[str, Tried]:
    """For each remedy, by its id (which begins with its cause), how often it helped of how often it was applied.

    It helped where its case is ``kept`` and did not come back; it did not where it was rolled back, or the case came back.
    Cases that ship as examples count for nothing: they were emulated, on servers that are not the user's.
    """
    found: dict[str, Tried] = {}
    for one in kept:
        if not one.remedy or one.origin == "example" or not (one.outcome in ("kept", "rolled_back") or one.came_back):
            continue
        before = found.get(one.remedy, Tried(0, 0))
        helped = one.outcome == "kept" and not one.came_back
        found[one.remedy] = Tried(before.helped + helped, before.of + 1, (*before.cases, one.id))
    return found

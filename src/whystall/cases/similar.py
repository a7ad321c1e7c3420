"""Kept cases that look like a new one."""

from __future__ import annotations

from collections.abc import Iterable

from whystall.model.case import CaseSummary, Signature
from whystall.model.diagnosis import SimilarCase

from .signature import Similarity, reason, similarity

# See benchmarks/accuracy/similar.py, which prints how often a case above it has the same planted fault.
ALIKE = 0.7
SHOWN = 5


def similar_cases(
    signature: Signature, kept: Iterable[CaseSummary], at_least: float = ALIKE, most: int = SHOWN
) -> tuple[SimilarCase, ...]:
    """Those of ``kept`` that score ``at_least``, the most alike first and of equals the newest; at most ``most``."""
    scored = [(similarity(signature, one.signature), one) for one in kept]
    alike = [(found, one) for found, one in scored if found.score >= at_least and found.causes]
    alike.sort(key=lambda pair: (-round(pair[0].score, 6), -pair[1].opened))
    return tuple(_similar(found, one) for found, one in alike[:most])


def _similar(found: Similarity, kept: CaseSummary) -> SimilarCase:
    return SimilarCase(
        id=kept.id,
        score=found.score,
        because=reason(found),
        opened=kept.opened,
        headline=kept.headline,
        outcome=kept.outcome,
        remedy=kept.remedy,
        remedy_text=kept.remedy_text,
        example=kept.origin == "example",
    )

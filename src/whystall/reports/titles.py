"""What a cause is called, and what to do about it first."""

from __future__ import annotations

from whystall.causes.catalogue import catalogue

from .printable import clean


def cause_title(id: str, lang: str) -> str:
    """The cause's title in ``lang``; its id in words where the catalogue lacks it (a newer diagnosis read back)."""
    entry = catalogue().get(id)
    return entry.title.in_(lang) if entry else clean(id).replace("_", " ")


def cause_first_step(id: str, lang: str) -> str:
    """What the catalogue says to do first, "" where it lacks the cause."""
    entry = catalogue().get(id)
    return entry.first_step.in_(lang) if entry else ""

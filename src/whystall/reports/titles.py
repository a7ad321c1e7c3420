"""What a cause is called, and what to do about it first."""

from __future__ import annotations

from whystall.causes.catalogue import catalogue
from whystall.model.text import Text

from .printable import clean


def cause_name(id: str) -> Text:
    """The cause's title; its id in words where the catalogue lacks it (a newer diagnosis read back)."""
    entry = catalogue().get(id)
    return entry.title if entry else Text(clean(id).replace("_", " "))


def cause_title(id: str, lang: str) -> str:
    """The same in ``lang``."""
    return cause_name(id).in_(lang)


def cause_first_step(id: str, lang: str) -> str:
    """What the catalogue says to do first, "" where it lacks the cause."""
    entry = catalogue().get(id)
    return entry.first_step.in_(lang) if entry else ""

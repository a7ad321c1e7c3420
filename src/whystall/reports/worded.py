"""A wording as a report shows it."""

from __future__ import annotations

from whystall.model.wording import Wording

from .phrases import say
from .printable import clean


def paragraphs(wording: Wording | None) -> tuple[str, ...]:
    """The paragraphs, made safe to print; none where nothing was worded."""
    return tuple(clean(part) for part in wording.text.split("\n\n") if part.strip()) if wording else ()


def told_by(wording: Wording | None, lang: str) -> str:
    """Who worded it, or why our own words stand there; "" where nothing was worded."""
    if wording is None:
        return ""
    host, rejected = clean(wording.host), clean(wording.rejected.in_(lang))
    if rejected:
        return say("worded_rejected", lang, host=host, why=rejected)
    return say("worded_by", lang, by=clean(wording.by), host=host)

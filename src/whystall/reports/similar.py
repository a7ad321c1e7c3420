"""Kept cases in a report: which look like this one, and how a remedy fared in them."""

from __future__ import annotations

from whystall.model.diagnosis import SimilarCase, Tried

from .figures import day_and_clock, percent
from .outline import Table
from .phrases import say, say_or
from .printable import clean


def similar_table(similar: tuple[SimilarCase, ...], lang: str) -> Table:
    """The kept cases like a new one, a row each; the note is their short form, with what helped."""
    columns = ("headline", "case_done", "case_outcome", "alike", "because", "case_opened")
    rows = tuple(_row(one, lang) for one in similar)
    return Table(
        "similar", say("similar", lang), tuple(say(name, lang) for name in columns), rows, similar_line(similar, lang)
    )


def similar_line(similar: tuple[SimilarCase, ...], lang: str) -> str:
    """ "As case 12 and 31; Store the KV cache in FP8: helped 2 of 2", "" where no case is like it.

    The remedy is the one that was tried most in these cases.
    """
    if not similar:
        return ""
    as_ = say("similar_as", lang, cases=say("comma", lang).join(str(one.id) for one in similar))
    tried = [one for one in similar if one.outcome in ("kept", "rolled_back") and not one.example]
    if not tried:
        return as_
    ids = [one.remedy for one in tried]
    most = max(ids, key=ids.count)
    same = [one for one in tried if one.remedy == most]
    helped = sum(one.outcome == "kept" for one in same)
    remedy = clean(same[0].remedy_text.in_(lang)).rstrip(".。") or clean(most)
    return say("similar_helped", lang, as_=as_, remedy=remedy, helped=helped, of=len(same))


def tried_text(tried: Tried | None, lang: str) -> str:
    """How a remedy fared, "" where no kept case used it."""
    if tried is None:
        return ""
    cases = say("comma", lang).join(map(str, tried.cases))
    return say("tried_value", lang, helped=tried.helped, of=tried.of, cases=cases)


def outcome_text(outcome: str, lang: str) -> str:
    """An outcome in words."""
    return say_or(f"outcome_{outcome}", clean(outcome), lang)


def case_title(id: int, headline: str, example: bool, lang: str) -> str:
    """What a case is called in a list."""
    return say("case_example" if example else "case_named", lang, id=id, headline=clean(headline))


def _row(one: SimilarCase, lang: str) -> tuple[str, ...]:
    return (
        case_title(one.id, one.headline.in_(lang), one.example, lang),
        clean(one.remedy_text.in_(lang)),
        outcome_text(one.outcome, lang),
        percent(one.score),
        clean(one.because.in_(lang)),
        day_and_clock(one.opened),
    )

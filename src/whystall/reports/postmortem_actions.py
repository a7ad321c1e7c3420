"""What is left to do after an incident."""

from __future__ import annotations

from whystall.model.case import Case
from whystall.model.diagnosis import Diagnosis, Remedy

from .phrases import say, say_or
from .printable import clean

MOST_SIGNALS = 3  # to see the next time: a longer list is not acted on


def actions(case: Case, found: Diagnosis, lang: str) -> tuple[str, ...]:
    """The actions that follow from how the case ended, and from what was not seen."""
    return (*_by_outcome(case, found, lang), *_signals(found, lang))


def _by_outcome(case: Case, found: Diagnosis, lang: str) -> list[str]:
    others = [one for one in found.remedies if case.remedy is None or one.id != case.remedy.id]
    if case.outcome == "kept":
        again = [say("action_recheck", lang)] if case.baseline else []
        return [*again, *_real_fix(case.remedy, others, lang)]
    if case.undone:  # whoever took it back knows why
        return []
    if case.outcome == "rolled_back":
        return [_said("action_next", one, lang) for one in others[:1]]
    if case.outcome == "recovered":
        return [say("action_watch", lang)]
    return [_said("action_try", one, lang) for one in found.remedies[:1]]


def _real_fix(applied: Remedy | None, others: list[Remedy], lang: str) -> list[str]:
    if applied is None or applied.aim == "fix":
        return []
    fixes = [one for one in others if one.cause == applied.cause and one.aim == "fix"]
    return [_said("action_real_fix", one, lang) for one in fixes[:1]]


def _said(key: str, remedy: Remedy, lang: str) -> str:
    return say(key, lang, text=clean(remedy.text.in_(lang)))


def _signals(found: Diagnosis, lang: str) -> list[str]:
    """The missing signals that would settle the most."""
    ordered = sorted(found.coverage.missing, key=lambda one: -len(one.would_settle))
    return [
        say(
            "action_see",
            lang,
            signal=say_or(f"signal_{one.signal}", clean(one.signal), lang),
            how=clean(one.how.in_(lang)),
        )
        for one in ordered[:MOST_SIGNALS]
    ]

"""Causes, their whys and the evidence behind them, put into words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from whystall.model.diagnosis import Cause, Diagnosis, Evidence, Limit, Reproduced, Why

from .answer import onset_text
from .figures import duration, figure, number, probability
from .outline import CauseBlock, EvidenceRow, WhyRow
from .phrases import say, say_or
from .printable import clean
from .titles import cause_title

# Strengths run from -1.5 to 1.5; one is a clear statement, a third is hardly one.
STRONG, SLIGHT = 1.0, 0.33
ENOUGH = 0.8  # of a loss is the loss: method.md 2.4


def cause_blocks(diagnosis: Diagnosis, lang: str) -> tuple[CauseBlock, ...]:
    """The causes in the order of the diagnosis, most probable first."""
    known = {row.id: row for row in evidence_rows(diagnosis, lang)}
    # A healthy server has no limit that binds; what it carries only explains why there is little to do.
    idle = diagnosis.verdict == "healthy"
    return tuple(_block(cause, "idle" if idle else cause.role, known, lang) for cause in diagnosis.causes)


def evidence_rows(diagnosis: Diagnosis, lang: str) -> tuple[EvidenceRow, ...]:
    """All evidence, in the order of the diagnosis."""
    return tuple(_evidence(evidence, lang) for evidence in diagnosis.evidence)


def limit_source(limit: Limit, lang: str) -> str:
    """Where a limit was read, in the reader's words where there are some."""
    return say_or(f"from_{limit.source}", clean(limit.source), lang)


def limit_text(limit: Limit | None, lang: str) -> str:
    if limit is None:
        return ""
    how = say("comma", lang).join(part for part in (say(limit.known, lang), limit_source(limit, lang)) if part)
    return say("limit_value", lang, name=clean(limit.name), value=number(limit.value), how=how)


def reproduced_text(found: Reproduced | None, lang: str) -> str:
    """What the emulator says of a cause, with the shares of the loss that it made and that went with it."""
    if found is None:
        return ""
    what = say_or(found.figure, found.figure, lang)
    parts = []
    if found.sufficiency is not None:
        parts.append(say("made_share", lang, share=_share(found.sufficiency), what=what))
    if found.necessity is not None:
        parts.append(say("went_share", lang, share=_share(found.necessity)))
    word = say("reproduced_yes" if found.holds else "reproduced_no", lang)
    told = say("reproduced_value", lang, word=word, parts=say("comma", lang).join(parts)) if parts else word
    if found.holds or found.emulated is None or ENOUGH <= found.emulated <= 1 / ENOUGH:
        return told
    return say("whole_share", lang, told=told, share=_share(found.emulated))


def _share(found: float) -> str:
    """Rounded down: what is less than is asked for does not read as if it were that."""
    return f"{math.floor(100 * found + 1e-9)}%"


def _block(cause: Cause, role: str, known: Mapping[str, EvidenceRow], lang: str) -> CauseBlock:
    return CauseBlock(
        id=clean(cause.id),
        title=cause_title(cause.id, lang),
        probability=cause.probability,
        chance=probability(cause.probability),
        role=role,
        role_word=say(f"role_{role}", lang),
        onset=onset_text(cause.onset, lang),
        summary=clean(cause.summary.in_(lang)),
        limit=limit_text(cause.limit, lang),
        whys=tuple(_why(why, known, lang) for why in cause.whys),
        evidence_for=_rows(cause.evidence_for, known),
        evidence_against=_rows(cause.evidence_against, known),
        reproduced=reproduced_text(cause.reproduced, lang),
    )


def _why(why: Why, known: Mapping[str, EvidenceRow], lang: str) -> WhyRow:
    rejects = say("rejects", lang, what=clean(why.rejects.in_(lang))) if why.rejects else ""
    word = say("holds" if why.holds else "does_not_hold", lang)
    claim = clean(why.claim.in_(lang))
    # A claim that quotes its evidence needs the number and the id below it, not the sentence again.
    numbers = (
        msgspec.structs.replace(row, text="") if row.text in claim else row for row in _rows(why.evidence, known)
    )
    return WhyRow(claim, why.holds, word, tuple(numbers), rejects)


def _rows(ids: Iterable[str], known: Mapping[str, EvidenceRow]) -> tuple[EvidenceRow, ...]:
    return tuple(known[id] for id in map(clean, ids) if id in known)


def _evidence(evidence: Evidence, lang: str) -> EvidenceRow:
    return EvidenceRow(
        id=clean(evidence.id),
        text=clean(evidence.text.in_(lang)),
        value=figure(evidence.value, clean(evidence.unit), lang),
        strength=evidence.strength,
        speaks=say(_speaks(evidence.strength), lang),
        neutral=_speaks(evidence.strength) == "neutral",
        source=say_or(f"signal_{evidence.source}", evidence.source, lang),
        over=duration(evidence.window_s) if evidence.window_s else "",
        onset=onset_text(evidence.onset, lang) if evidence.onset else "",
        departs=say("departs", lang) if evidence.anomaly else "",
    )


def _speaks(strength: float) -> str:
    size = abs(strength)
    if not size >= SLIGHT:  # also a NaN
        return "neutral"
    side = "for" if strength > 0 else "against"
    return f"strongly_{side}" if size >= STRONG else side

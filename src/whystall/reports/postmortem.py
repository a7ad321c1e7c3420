"""What a post-mortem says, in one language and in reading order. Renderers only lay it out."""

from __future__ import annotations

import msgspec

from whystall.model.case import Case, diagnosis_of
from whystall.model.diagnosis import Cause, Diagnosis, Impact

from .answer import LIKELY, MARKS
from .figures import clock, day_and_clock, duration, figure, seen
from .outline import Fact, Table, WhyRow
from .outlining import IMPACT_UNITS
from .outlining_causes import cause_blocks
from .outlining_tables import ruled_out_table
from .phrases import say, say_or
from .postmortem_actions import actions
from .postmortem_proof import Done, Proof, done, proof
from .printable import clean
from .similar import outcome_text
from .worded import paragraphs, told_by

MOST_WHYS = 7  # the chain of the limit and of what set it off; more is no chain any more


class Postmortem(msgspec.Struct, frozen=True):
    """One incident as a report. ``None`` and "" stand where there is nothing to say."""

    lang: str
    title: str
    verdict: str
    mark: str
    word: str
    headline: str
    outcome: str
    example: str
    facts: tuple[Fact, ...]
    seen: Table | None
    timeline: Table
    whys: tuple[WhyRow, ...]
    whys_note: str
    ruled_out: Table | None
    done: Done
    proof: Proof
    actions: tuple[str, ...]
    claims: Table | None
    notes: Table | None
    wording: tuple[str, ...] = ()
    worded_by: str = ""


def postmortem(case: Case, lang: str) -> Postmortem:
    """The post-mortem of ``case``. Raises ``msgspec.ValidationError`` where its data is no diagnosis."""
    found = diagnosis_of(case.diagnosis)
    after = diagnosis_of(case.after) if case.after else None
    whys = _whys(found, lang)
    return Postmortem(
        lang=lang,
        title=say("pm_title", lang, id=case.id),
        verdict=case.verdict,
        mark=MARKS[case.verdict],
        word=say(case.verdict, lang),
        headline=clean(case.headline.in_(lang)),
        outcome=outcome_text("undone" if case.undone else case.outcome, lang),
        example=say("pm_example", lang) if case.origin == "example" else "",
        facts=_facts(case, lang),
        seen=_seen(found.impact, after.impact if after else None, lang),
        timeline=_timeline(case, lang),
        whys=whys,
        whys_note=say("pm_whys_end" if whys else "pm_no_whys", lang),
        ruled_out=_or_none(msgspec.structs.replace(ruled_out_table(found, lang), title=say("pm_ruled_out", lang))),
        done=done(case, lang),
        proof=proof(case, after is not None, lang),
        actions=actions(case, found, lang),
        claims=_or_none(_claims(case, lang)),
        notes=_or_none(_notes(case, lang)),
        wording=paragraphs(case.wording),
        worded_by=told_by(case.wording, lang),
    )


def _or_none(table: Table) -> Table | None:
    return table if table.rows else None


def _facts(case: Case, lang: str) -> tuple[Fact, ...]:
    pairs = (
        ("target", clean(case.target)),
        ("engine", f"{clean(case.engine.name)} {clean(case.engine.version) or say('version_unknown', lang)}"),
        ("model", clean(case.engine.model)),
        ("pm_opened", day_and_clock(case.opened)),
        ("pm_closed", day_and_clock(case.closed) if case.closed is not None else ""),
        ("pm_lasted", _lasted(case)),
        ("pm_origin", clean(case.origin)),
    )
    return tuple(Fact(say(key, lang), value) for key, value in pairs if value)


def _lasted(case: Case) -> str:
    """From when it began, where that was seen, to when it was closed."""
    begun = min((step.at for step in case.steps if step.id == "began"), default=case.opened)
    return duration(case.closed - begun) if case.closed is not None and case.closed > begun else ""


def _seen(during: Impact, after: Impact | None, lang: str) -> Table | None:
    rows = []
    for name, unit in IMPACT_UNITS.items():
        values = [getattr(during, name), getattr(after, name) if after else None]
        if any(seen(value) for value in values):
            cells = [figure(value, unit, lang) for value in values]
            rows.append((say(name, lang), *(cells if after else cells[:1])))
    columns = ("figure", "pm_during", "pm_after") if after else ("figure", "pm_during")
    return _or_none(_table("pm_seen", columns, tuple(rows), lang))


def _table(id: str, columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], lang: str) -> Table:
    return Table(id, say(id, lang), tuple(say(name, lang) for name in columns), rows)


def _timeline(case: Case, lang: str) -> Table:
    steps = sorted(case.steps, key=lambda step: step.at)
    first = steps[0].at if steps else case.opened
    rows = tuple(
        (
            clock(step.at),
            f"+{duration(step.at - first)}",
            say_or(f"step_{step.id}", clean(step.id), lang),
            clean(step.text.in_(lang)),
        )
        for step in steps
    )
    return _table("pm_timeline", ("pm_time", "pm_since_first", "pm_step", "pm_what"), rows, lang)


def _whys(found: Diagnosis, lang: str) -> tuple[WhyRow, ...]:
    """The chain of the first cause and of the other likely one: what was proven, and each number once."""
    likely = {cause.id for cause in found.causes if _likely(cause)}
    chain: list[WhyRow] = []
    for block in cause_blocks(found, lang):
        # What set it off often begins with the number that the limit's chain ended with.
        known = {row.id for why in chain for row in why.numbers}
        proven = [why for why in block.whys if why.holds and block.id in likely]
        chain += [why for why in proven if not why.numbers or not {row.id for row in why.numbers} <= known]
    return tuple(chain)[:MOST_WHYS]


def _likely(cause: Cause) -> bool:
    return cause.probability >= LIKELY


def _claims(case: Case, lang: str) -> Table:
    rows = tuple(
        (
            clean(one.text.in_(lang)),
            say("claim_right" if one.right else "claim_wrong", lang),
            clean(one.because.in_(lang)),
        )
        for one in case.claims
    )
    return _table("pm_claims", ("pm_claim", "pm_right", "because"), rows, lang)


def _notes(case: Case, lang: str) -> Table:
    rows = tuple((day_and_clock(note.at), clean(note.text)) for note in case.notes)
    return _table("pm_notes", ("pm_time", "pm_note"), rows, lang)

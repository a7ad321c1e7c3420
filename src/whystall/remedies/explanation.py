"""A word -> what it is: a knob, and below it whatever ``causes/explanation.py`` knows."""

from __future__ import annotations

from whystall.causes import explanation as below
from whystall.errors import UsageError
from whystall.model.explanation import DefaultNote, Explanation, FlagNote, FolkNote, KnobNote

from .knob import Knob
from .knobs import knob_of, knobs
from .rules import bounds


def explain(word: str) -> Explanation:
    """What ``word`` is: a cause's id, a flag or its id in any version, a metric's name or a short name.

    Raises :class:`~whystall.errors.UsageError` with the nearest names where it is none of them.
    """
    knob = knob_of(word)
    if knob is not None:
        return Explanation(knob.id, "knob", knob=_note(knob))
    found = below.find(word)
    if found is None:
        hint = below.offer(word, words())
        raise UsageError(f"{word!r} is no cause, knob or metric that whystall knows", hint)
    return found


def words() -> tuple[str, ...]:
    """Every word that can be explained."""
    return (*below.words(), *knobs())


def _note(knob: Knob) -> KnobNote:
    return KnobNote(
        id=knob.id,
        group=knob.group,
        kind=knob.kind,
        what=knob.what,
        up=knob.up,
        down=knob.down,
        flags=tuple(FlagNote(one.flag, one.off, one.since, one.until) for one in knob.spellings),
        defaults=tuple(DefaultNote(one.value, one.when, one.since, one.until) for one in knob.defaults),
        legal=_legal(knob),
        rules=tuple(rule.says for rule in knob.needs),
        raising={str(name): way for name, way in knob.raising.items()},
        treats={treatment.cause: treatment.move for treatment in knob.treats},
        folk=tuple(FolkNote(folk.claim, folk.wrong, folk.causes) for folk in knob.folk),
        restart=knob.restart,
        undo=knob.undo,
        removed=all(one.until for one in knob.spellings),
    )


def _legal(knob: Knob) -> str:
    choices = (one.value + (f" ({one.since}+)" if one.since else "") for one in knob.legal.choices)
    return ", ".join(part for part in (bounds(knob.legal), *choices) if part)

"""What might be done, before versions and start-up rules have had their say."""

from __future__ import annotations

import msgspec

from whystall.model.diagnosis import Aim, RemedyKind
from whystall.model.text import Text

from .rules import spelling, spelling_off
from .setup import number_of
from .situation import Situation

_NOTHING = Text("", "")
_RAISE = Text("Raise {flag} from {old} to {new}", "把 {flag} 从 {old} 提高到 {new}")
_LOWER = Text("Lower {flag} from {old} to {new}", "把 {flag} 从 {old} 降到 {new}")
_SET = Text("Set {flag} to {new}", "把 {flag} 设为 {new}")
_ADD = Text("Start with {flag}", "启动时加上 {flag}")
_REMOVE = Text("Start without {flag}", "启动时去掉 {flag}")


class Candidate(msgspec.Struct, frozen=True):
    """A remedy to be. ``change`` is by knob id; ``""`` removes the flag, ``"true"`` and ``"false"`` set a switch."""

    id: str
    text: Text
    buys: Text
    risk: Text = _NOTHING
    change: dict[str, str] = {}
    kind: RemedyKind = "knob"
    aim: Aim = "fix"
    restart: bool = True
    assume: dict[str, str] = {}
    undo: Text | None = None  # made from the change where there is none


def turned(case: Situation, knob: str, value: int | float | str, buys: Text, risk: Text, aim: Aim = "fix") -> Candidate:
    """Set ``knob`` to ``value``; the words say which way that is."""
    new, old = f"{value}", case.now(knob)
    flag = spelling(knob, case.version) or ""
    before, after = number_of(old or ""), number_of(new)
    text = _SET
    if before is not None and after is not None and before != after and _is_limit(case, knob, before):
        text = _RAISE if after > before else _LOWER
    return Candidate(f"set.{knob}", text.format(flag=flag, old=old, new=new), buys, risk, {knob: new}, aim=aim)


def _is_limit(case: Situation, knob: str, before: float) -> bool:
    # From 0, which is off, to a number is neither up nor down.
    return before > 0 or case.setup.is_set(knob) is True


def switched_on(case: Situation, knob: str, buys: Text, risk: Text) -> Candidate:
    """Add a switch."""
    text = _ADD.format(flag=spelling(knob, case.version) or "")
    return Candidate(f"on.{knob}", text, buys, risk, {knob: "true"})


def without(case: Situation, knob: str, buys: Text, risk: Text = _NOTHING, aim: Aim = "fix") -> Candidate:
    """Take away a flag that the operator set."""
    text = _REMOVE.format(flag=flag_as_set(case, knob) or "")
    return Candidate(f"without.{knob}", text, buys, risk, {knob: ""}, aim=aim)


def flag_as_set(case: Situation, knob: str) -> str | None:
    """How the operator wrote it: the off form of a switch that is off."""
    off = spelling_off(knob, case.version) if case.setup.on(knob) is False else None
    return off or spelling(knob, case.version)


def act(
    kind: RemedyKind, id: str, text: Text, buys: Text, risk: Text = _NOTHING, aim: Aim = "fix", **assume: str
) -> Candidate:
    """Something that is no flag and needs no restart; ``assume`` says it as a prediction takes it."""
    return Candidate(id, text, buys, risk, kind=kind, aim=aim, restart=False, assume=assume)

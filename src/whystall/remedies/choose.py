"""Diagnosis -> Remedy: what to change on this server, with the values that it needs and the flags that it knows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec
import numpy as np

from whystall.model.diagnosis import Cause, Diagnosis, NotOffered, Remedy, Tried
from whystall.model.engine_state import EngineState
from whystall.model.text import Text

from .candidate import Candidate, flag_as_set
from .experience import ordered
from .knob import UNDO
from .knobs import knob_of, knobs
from .rules import may_start, spelling, spelling_off
from .setup import number_of
from .situation import Situation, situation
from .treatments import treatments
from .version import NEWEST, is_newer

_NEWER = Text(
    "this version is newer than our tables (vLLM {newest}): check the flag with vllm serve --help",
    "该版本比我们的表（vLLM {newest}）更新：请用 vllm serve --help 核对参数",
)
_AND = Text("{a}; {b}", "{a}；{b}")
_UNDO = Text("Start again {how}", "{how}重新启动")
_WITH = Text("with {flag}", "用 {flag} ")
_AS_IT_WAS = Text("with {flag} as it was", "用原来的 {flag} ")
_WITHOUT = Text("without {flag}", "去掉 {flag} ")
_BOTH = Text("{a} and {b}", "{a}并{b}")


def remedies(
    diagnosis: Diagnosis, state: EngineState, success: Mapping[str, Tried] | None = None
) -> tuple[Remedy, ...]:
    """What to do about each cause of ``diagnosis``, the surest cause first and its best remedy first.

    ``success`` says by the remedies' ids how they fared in kept cases: what helped there comes first.

    Flags are spelled as the server's version writes them. What the version lacks, what is set already and what would
    keep the server from starting is left out; a flag that an earlier remedy moves is not moved another way. A cause
    without any remedy keeps the one that the diagnosis has for it. ``effect`` is empty: nothing is predicted here.
    """
    if not diagnosis.remedies:
        return ()
    with np.errstate(all="ignore"):  # sums of damaged values overflow; every bound leaves out what is not finite
        return _chosen(situation(diagnosis, state), success or {})


def _chosen(case: Situation, success: Mapping[str, Tried]) -> tuple[Remedy, ...]:
    found = list[Remedy]()
    # Where settings changed and it got worse, the way back comes before a third value of one of them.
    causes = sorted(case.diagnosis.causes, key=lambda cause: cause.id != "config_regression")
    for cause in causes:
        own = ordered(_for_cause(case, cause, found), success)
        against = not_offered(cause.id, {knob.id for r in own for flag in r.change if (knob := knob_of(flag))})
        found += own
        at = len(found) - len(own) if own else 0
        if found and against:
            found[at] = msgspec.structs.replace(found[at], not_offered=(*found[at].not_offered, *against))
    return tuple(found)


def _for_cause(case: Situation, cause: Cause, earlier: list[Remedy]) -> Iterator[Remedy]:
    """The candidates that may be offered and that no earlier cause has; what the diagnosis says where there is none."""
    moved = {flag: value for remedy in earlier for flag, value in remedy.change.items()}
    treat = treatments().get(cause.id)
    allowed = [one for one in (treat(case) if treat else ()) if _may_be_offered(case, one, moved)]
    if not allowed:
        kept = (remedy for remedy in case.diagnosis.remedies if remedy.cause == cause.id)
        yield from (msgspec.structs.replace(remedy, kind="operation") for remedy in kept)
    said = {_what(remedy.id) for remedy in earlier}
    yield from (_remedy(case, cause, one) for one in allowed if one.id not in said)


def _what(id: str) -> str:
    """A remedy's id without its cause."""
    return id.partition(".")[2]


def _may_be_offered(case: Situation, candidate: Candidate, moved: dict[str, str]) -> bool:
    written = _spelled(case, candidate)
    if written is None or any(moved.get(flag, value) != value for flag, value in written.items()):
        return False
    if candidate.change and all(_is_so_already(case, knob, value) for knob, value in candidate.change.items()):
        return False
    return not may_start(case.state.configuration, written)


def _is_so_already(case: Situation, knob: str, value: str) -> bool:
    if not value:
        return case.setup.is_set(knob) is not True
    now = case.setup.text(knob)
    if now is None:
        return False
    left, right = number_of(now), number_of(value)
    return left == right if left is not None and right is not None else now.lower() == value.lower()


def _spelled(case: Situation, candidate: Candidate) -> dict[str, str] | None:
    """The change by flag; None where the version lacks one, or what should go was never set."""
    written = {}
    for knob, value in candidate.change.items():
        off = value == "false" and knobs()[knob].kind == "switch"
        flag = spelling_off(knob, case.version) if off else spelling(knob, case.version)
        if not value:
            flag = flag_as_set(case, knob) if case.setup.is_set(knob) else None
        if flag is None:
            return None
        written[flag] = "true" if off else value
    return written


def _remedy(case: Situation, cause: Cause, candidate: Candidate) -> Remedy:
    written = _spelled(case, candidate) or {}
    risk = candidate.risk
    if written and is_newer(case.setup.version):
        newer = _NEWER.format(newest=".".join(map(str, NEWEST)))
        risk = _AND.format(a=risk, b=newer) if risk.en else newer
    return Remedy(
        id=f"{cause.id}.{candidate.id}",
        text=candidate.text,
        change=written,
        risk=risk,
        restart=candidate.restart,
        undo=candidate.undo or _undo(case, candidate, written),
        cause=cause.id,
        kind=candidate.kind,
        aim=candidate.aim,
        buys=candidate.buys,
        assume=candidate.assume,
    )


def _undo(case: Situation, candidate: Candidate, written: dict[str, str]) -> Text:
    """The way back: each flag as it stood before."""
    if not candidate.change:
        return Text("", "")
    ways = [_way_back(case, knob, flag) for knob, flag in zip(candidate.change, written, strict=True)]
    if not all(way.en for way in ways):
        return UNDO
    how = ways[0]
    for way in ways[1:]:
        how = _BOTH.format(a=how, b=way)
    return _UNDO.format(how=how)


def _way_back(case: Situation, knob: str, flag: str) -> Text:
    """How it was before; "" where nobody knows."""
    old = case.now(knob)
    if case.setup.is_set(knob) is False:
        return _WITHOUT.format(flag=flag)
    if old is None:
        return Text("", "")
    kind = knobs()[knob].kind
    if kind == "json":  # of many words, and where it is known from the log no JSON
        return _AS_IT_WAS.format(flag=flag)
    return _WITH.format(flag=flag if kind == "switch" else f"{flag} {old}")


def not_offered(cause: str, offered: Collection[str] = ()) -> tuple[NotOffered, ...]:
    """What is often advised for the symptom of ``cause``, and why it does not help; not of knobs that are ``offered``."""
    others = (knob for knob in knobs().values() if knob.id not in offered)
    return tuple(NotOffered(folk.claim, folk.wrong) for knob in others for folk in knob.folk if cause in folk.causes)

"""A diagnosis becomes a case."""

from __future__ import annotations

import hashlib

import msgspec

from whystall.model.case import Case, CaseStep, plain
from whystall.model.diagnosis import Diagnosis
from whystall.model.text import Text

from .signature import signature_of

_SEEN = Text("whystall began to look", "whystall 开始观察")
_DIAGNOSED = Text("{verdict}: {headline}", "{verdict}：{headline}")
_CHOSEN = Text("Advised first: {text}", "首选建议：{text}")
# What is a case once, however often it is looked at; each run of the loop is a case of its own.
_OF_A_WINDOW = ("diagnose", "example")
_VERDICTS = {
    "healthy": Text("healthy", "健康"),
    "bottleneck": Text("bottleneck", "存在瓶颈"),
    "unknown": Text("could not tell", "无法判断"),
}


def case_of(diagnosis: Diagnosis, now: float, origin: str = "diagnose") -> Case:
    """A case of ``diagnosis``, not yet in a book. ``opened`` is ``now``; it is closed at once where nothing is wrong.

    Its steps are the incident's onset where one was seen, the look and, of a diagnosis alone, the diagnosis with the advice
    that comes first; the loop writes those itself. They are on the clock of ``now``, whatever clock the server has.
    """
    healthy, alone = diagnosis.verdict == "healthy", origin in _OF_A_WINDOW
    return Case(
        target=diagnosis.target,
        engine=diagnosis.engine,
        opened=now,
        closed=now if healthy else None,
        outcome="not_changed" if healthy else "open",
        signature=signature_of(diagnosis),
        verdict=diagnosis.verdict,
        headline=diagnosis.headline,
        diagnosis=plain(msgspec.structs.replace(diagnosis, similar=(), wording=None, engines=())),
        remedy=diagnosis.remedies[0] if diagnosis.remedies and not healthy else None,
        steps=_steps(diagnosis, now, alone),
        origin=origin,
        uid=uid_of(diagnosis) if alone else "",
    )


def uid_of(diagnosis: Diagnosis) -> str:
    """32 hex digits: the same window of the same engine is the same case, however often it is diagnosed."""
    window = diagnosis.window
    named = (diagnosis.target, diagnosis.engine.id, diagnosis.engine.model, window.start, window.end)
    return hashlib.sha256(repr(named).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _steps(diagnosis: Diagnosis, now: float, alone: bool) -> tuple[CaseStep, ...]:
    start = now - (diagnosis.window.end - diagnosis.window.start)
    steps = [CaseStep("seen", start, _SEEN)]
    if diagnosis.verdict == "bottleneck":
        onsets = ((cause.summary, cause.onset.seconds) for cause in diagnosis.causes if cause.onset)
        steps += [CaseStep("began", start + after, summary) for summary, after in onsets]
    if alone:
        found = _DIAGNOSED.format(verdict=_VERDICTS[diagnosis.verdict], headline=diagnosis.headline)
        advice = [CaseStep("chosen", now, _CHOSEN.format(text=r.text)) for r in diagnosis.remedies[:1] if r.text.en]
        steps += [CaseStep("diagnosed", now, found), *advice]
    return tuple(sorted(steps, key=lambda step: step.at))

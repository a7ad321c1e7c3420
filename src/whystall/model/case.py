"""An incident that is kept: what was found, what was done, what came of it. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np

from .diagnosis import Diagnosis, Engine, Remedy, SimilarCase, Tried, Verdict
from .prediction import Prediction
from .text import LANGUAGES, Text, decode_hook
from .trial import Trial
from .wording import Wording

CaseOutcome = Literal["open", "kept", "rolled_back", "not_changed", "recovered"]
StepId = Literal[
    "began",
    "seen",
    "diagnosed",
    "chosen",
    "predicted",
    "applied",
    "verified",
    "kept",
    "rolled_back",
    "closed",
    "checked",
    "reopened",
]


class Signature(msgspec.Struct, frozen=True):
    """What a case looks like: each cause with its probability, each piece of evidence with its strength (-1.5 to 1.5)."""

    causes: dict[str, float] = {}
    strengths: dict[str, float] = {}


class CaseStep(msgspec.Struct, frozen=True):
    """Something that happened: which step, when (unix seconds), and what in words."""

    id: StepId
    at: float
    text: Text = msgspec.field(default_factory=lambda: Text(""))


class CaseNote(msgspec.Struct, frozen=True):
    """What a person wrote to a case, and when (unix seconds)."""

    at: float
    text: str


class Claim(msgspec.Struct, frozen=True):
    """What somebody else's write-up of the incident says, whether it is right, and why."""

    text: Text
    right: bool
    because: Text


class Case(msgspec.Struct, frozen=True):
    """One incident. ``id`` is 0 and ``uid`` "" until a book has it; the uid is the same in every book.

    ``opened`` and ``closed`` are unix seconds; ``closed`` is None while the outcome is ``open``. ``diagnosis`` and
    ``after`` (what the diagnosis said once the change was made) are diagnoses as plain data, ``prediction`` and ``trial``
    likewise what the what-if and the trial printed; texts in them hold both languages (:func:`plain`), and an old book
    stays readable when a noun gains a field. ``outcome`` is ``kept`` or ``rolled_back`` where a remedy was applied,
    ``not_changed`` where none was, ``recovered`` where the server got well without one. ``baseline`` has the figures that
    a kept change is checked against later. ``origin`` says what wrote the case: diagnose, fix, watch or example.
    """

    target: str
    engine: Engine
    opened: float
    signature: Signature
    verdict: Verdict
    headline: Text
    diagnosis: dict[str, Any]
    id: int = 0
    uid: str = ""
    closed: float | None = None
    remedy: Remedy | None = None
    prediction: dict[str, Any] | None = None
    trial: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    outcome: CaseOutcome = "open"
    baseline: dict[str, float] = {}
    steps: tuple[CaseStep, ...] = ()
    notes: tuple[CaseNote, ...] = ()
    claims: tuple[Claim, ...] = ()
    origin: str = "diagnose"
    wording: Wording | None = None  # as it is shown; no book keeps it
    schema: Literal["whystall.case/1"] = "whystall.case/1"

    @property
    def undone(self) -> bool:
        """Whether its change was kept first, and taken back because somebody asked for it."""
        return self.outcome == "rolled_back" and any(step.id == "kept" for step in self.steps)


class CaseSummary(msgspec.Struct, frozen=True):
    """What a list shows of a case and what others are compared with; ``remedy`` is its id, "" where none was chosen."""

    id: int
    uid: str
    opened: float
    closed: float | None
    target: str
    engine: Engine
    verdict: Verdict
    headline: Text
    signature: Signature
    remedy: str
    remedy_text: Text
    outcome: CaseOutcome
    came_back: bool
    origin: str


def summary_of(case: Case) -> CaseSummary:
    """The summary of ``case``; ``came_back`` where it was opened again after its remedy had been kept."""
    return CaseSummary(
        id=case.id,
        uid=case.uid,
        opened=case.opened,
        closed=case.closed,
        target=case.target,
        engine=case.engine,
        verdict=case.verdict,
        headline=case.headline,
        signature=case.signature,
        remedy=case.remedy.id if case.remedy else "",
        remedy_text=case.remedy.text if case.remedy else Text(""),
        outcome=case.outcome,
        came_back=any(step.id == "reopened" for step in case.steps),
        origin=case.origin,
    )


class CaseList(msgspec.Struct, frozen=True):
    """What ``whystall cases list`` shows: the cases, the newest first, and how each remedy fared in all that are kept."""

    store: str
    cases: tuple[CaseSummary, ...]
    success: dict[str, Tried]
    schema: Literal["whystall.cases/1"] = "whystall.cases/1"


class SimilarCases(msgspec.Struct, frozen=True):
    """What ``whystall cases similar`` shows: the kept cases like case ``id``."""

    id: int
    similar: tuple[SimilarCase, ...]
    schema: Literal["whystall.similar/1"] = "whystall.similar/1"


class CaseExport(msgspec.Struct, frozen=True):
    """Cases on their way to another book; their texts are in both languages."""

    cases: tuple[Case, ...]
    schema: Literal["whystall.case_export/1"] = "whystall.case_export/1"


def plain(noun: msgspec.Struct) -> dict[str, Any]:
    """Any noun as plain data that JSON can hold, each text as ``{"en": …, "zh": …}``."""
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(noun, enc_hook=both_languages))
    return body


def diagnosis_of(data: dict[str, Any]) -> Diagnosis:
    """A diagnosis from its plain data, texts in one language or both. Raises ``msgspec.ValidationError``."""
    return msgspec.convert(data, Diagnosis, dec_hook=decode_hook)


def prediction_of(case: Case) -> Prediction | None:
    """What was predicted of the case's remedy, None where nothing was. Raises ``msgspec.ValidationError``."""
    return None if case.prediction is None else msgspec.convert(case.prediction, Prediction, dec_hook=decode_hook)


def trial_of(case: Case) -> Trial | None:
    """The trial of the case's remedy, None where there was none. Raises ``msgspec.ValidationError``."""
    return None if case.trial is None else msgspec.convert(case.trial, Trial, dec_hook=decode_hook)


def in_language(data: Any, lang: str) -> Any:
    """Plain data with each text in one language: what has ``en`` and ``zh`` and nothing else is a text."""
    if isinstance(data, dict):
        if set(data) == set(LANGUAGES) and all(isinstance(value, str) for value in data.values()):
            return data[lang]
        return {key: in_language(value, lang) for key, value in data.items()}
    return [in_language(value, lang) for value in data] if isinstance(data, list) else data


def both_languages(value: object) -> object:
    """``enc_hook`` for msgspec that keeps both languages of a :class:`Text`, and writes numpy's numbers as plain ones."""
    if isinstance(value, Text):
        return {"en": value.en, "zh": value.zh}
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"cannot encode {type(value).__name__}")


def both_schema_hook(kind: type) -> dict[str, Any]:
    """``schema_hook`` for msgspec where a :class:`Text` is written by :func:`both_languages`."""
    if kind is Text:
        texts = {lang: {"type": "string"} for lang in LANGUAGES}
        return {"type": "object", "properties": texts, "required": list(LANGUAGES)}
    raise NotImplementedError(f"no schema for {kind.__name__}")

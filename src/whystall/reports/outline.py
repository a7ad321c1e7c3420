"""What a report says, in one language and in reading order. Renderers only lay it out.

Every text here has passed :func:`~whystall.reports.printable.clean`; a renderer still has to escape for its own syntax.
"""

from __future__ import annotations

import msgspec


class Fact(msgspec.Struct, frozen=True):
    label: str
    value: str


class Table(msgspec.Struct, frozen=True):
    """A table. ``note`` stands below it, empty where there is none."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


class EvidenceRow(msgspec.Struct, frozen=True):
    """One measured statement: its number with unit, which way it speaks in words, and the strength for a bar."""

    id: str
    text: str
    value: str
    strength: float
    speaks: str
    neutral: bool
    source: str
    over: str
    onset: str
    departs: str  # empty where it does not depart from the baseline


class WhyRow(msgspec.Struct, frozen=True):
    claim: str
    holds: bool
    word: str
    numbers: tuple[EvidenceRow, ...]
    rejects: str


class CauseBlock(msgspec.Struct, frozen=True):
    """A cause with all that stands behind it. ``limit`` is empty where no limit of the server is involved.

    ``reproduced`` is what the emulator says of it; empty where it was not asked.
    """

    id: str
    title: str
    probability: float
    chance: str
    role: str
    role_word: str
    onset: str
    summary: str
    limit: str
    whys: tuple[WhyRow, ...]
    evidence_for: tuple[EvidenceRow, ...]
    evidence_against: tuple[EvidenceRow, ...]
    reproduced: str = ""


class PartRow(msgspec.Struct, frozen=True):
    """A part of GPU memory; ``share`` of the whole, 0 to 1."""

    id: str
    label: str
    size: str
    share: float
    percent: str
    known: str
    text: str


class MemoryBar(msgspec.Struct, frozen=True):
    parts: tuple[PartRow, ...]
    note: str


class Answer(msgspec.Struct, frozen=True):
    """The first three lines: the verdict with its headline, since when, and the first step with its note."""

    verdict: str
    mark: str
    word: str
    headline: str
    since: str
    first: str
    note: str  # what follows the first step, in brackets


class Outline(msgspec.Struct, frozen=True):
    """A whole report on one engine; ``others`` holds the remaining engines of the page."""

    lang: str
    name: str  # the engine label or model, where several engines are shown
    answer: Answer
    facts: tuple[Fact, ...]
    impact: tuple[Fact, ...]
    impact_title: str
    impact_note: str
    causes: tuple[CauseBlock, ...]
    evidence: tuple[EvidenceRow, ...]
    tables: tuple[Table, ...]  # those that have rows, in reading order
    memory: MemoryBar | None
    signals: str
    unknown_names: str
    engines: Table | None = None
    wording: tuple[str, ...] = ()  # paragraphs: the answer in other words
    worded_by: str = ""
    others: tuple[Outline, ...] = ()

    def table(self, id: str) -> Table | None:
        return next((table for table in self.tables if table.id == id), None)

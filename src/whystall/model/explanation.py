"""What a cause, a knob or a metric is. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .diagnosis import Role
from .text import Text


class Step(msgspec.Struct, frozen=True):
    """One why of a cause's chain: the claim, the evidence that checks it, and what a passed check rules out."""

    claim: Text
    evidence: tuple[str, ...]
    optional: bool
    rejects: Text | None = None


class LookAlikeNote(msgspec.Struct, frozen=True):
    """Another cause with the same picture, and the number that tells them apart."""

    cause: str
    told_apart_by: Text


class CauseNote(msgspec.Struct, frozen=True):
    """A cause of the catalogue. ``weights`` are log odds for one unit of an evidence's strength."""

    id: str
    title: Text
    role: Role
    what: Text
    predicts: Text
    first_step: Text
    steps: tuple[Step, ...]
    look_alikes: tuple[LookAlikeNote, ...]
    weights: dict[str, float]
    limit: str | None
    healthy_too: bool
    settled_by: tuple[str, ...]


class MetricName(msgspec.Struct, frozen=True):
    """A name of a metric on the page; versions are "" where they do not bound it."""

    name: str
    since: str
    until: str


class MetricNote(msgspec.Struct, frozen=True):
    """A metric of the dialect tables, under all names it has had."""

    name: str
    type: str
    unit: str
    what: Text
    names: tuple[MetricName, ...]


class FlagNote(msgspec.Struct, frozen=True):
    """A spelling of a knob; ``off`` turns a switch off, versions are "" where they do not bound it."""

    flag: str
    off: str
    since: str
    until: str


class DefaultNote(msgspec.Struct, frozen=True):
    """A default, for which device, and in which versions."""

    value: str
    when: Text
    since: str
    until: str


class FolkNote(msgspec.Struct, frozen=True):
    """A use that is often advised, and why it is wrong."""

    claim: Text
    wrong: Text
    causes: tuple[str, ...]


class KnobNote(msgspec.Struct, frozen=True):
    """A flag of the server. ``raising`` maps what moves to better, worse or either; ``treats`` a cause to the move.

    ``removed`` says that the newest version of our tables has none of its spellings.
    """

    id: str
    group: str
    kind: str
    what: Text
    up: Text
    down: Text
    flags: tuple[FlagNote, ...]
    defaults: tuple[DefaultNote, ...]
    legal: str
    rules: tuple[Text, ...]
    raising: dict[str, str]
    treats: dict[str, str]
    folk: tuple[FolkNote, ...]
    restart: bool
    undo: Text
    removed: bool


class Explanation(msgspec.Struct, frozen=True):
    """The answer to ``whystall explain WORD``: one of ``cause``, ``knob`` and ``metric`` is there."""

    word: str
    kind: Literal["cause", "knob", "metric"]
    cause: CauseNote | None = None
    metric: MetricNote | None = None
    knob: KnobNote | None = None
    schema: Literal["whystall.explanation/1"] = "whystall.explanation/1"

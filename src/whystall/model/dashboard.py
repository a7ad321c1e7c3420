"""What the dashboard asks for beside the nouns: words, forms, lists of files. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .text import Text

ControlKind = Literal["whole", "number", "switch", "choice"]


class CatalogueCause(msgspec.Struct, frozen=True):
    """A cause as a page names and explains it."""

    title: Text
    what: Text
    first_step: Text


class Catalogue(msgspec.Struct, frozen=True):
    """The causes by id, and the phrases of the reports by key, with ``{name}`` where a value goes."""

    causes: dict[str, CatalogueCause]
    phrases: dict[str, Text]
    schema: Literal["whystall.catalogue/1"] = "whystall.catalogue/1"


class Control(msgspec.Struct, frozen=True):
    """Something a what-if can turn: a knob with its ``flag``, or, with flag "", what is no flag (``rate replicas``).

    ``now`` is the value in force, "" where it is not known; ``values`` are those to choose from, in order.
    """

    id: str
    flag: str
    kind: ControlKind
    what: Text
    now: str
    values: tuple[str, ...]


class WhatIfForm(msgspec.Struct, frozen=True):
    """What can be asked of one engine."""

    engine: str
    knobs: tuple[Control, ...]
    assume: tuple[Control, ...]
    schema: Literal["whystall.whatif_form/1"] = "whystall.whatif_form/1"


class TraceFile(msgspec.Struct, frozen=True):
    """A file that can be picked. ``modified`` is unix seconds."""

    name: str
    bytes: int
    modified: float


class TraceFiles(msgspec.Struct, frozen=True):
    """The files in the service's trace folder, the newest first, and the most bytes that may be uploaded."""

    files: tuple[TraceFile, ...]
    max_bytes: int
    schema: Literal["whystall.trace_files/1"] = "whystall.trace_files/1"

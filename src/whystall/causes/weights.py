"""The fitted weights: one versioned table beside this file, laid over the hand-set ones of the catalogue.

The table holds for each number what it was fitted from and what came of it. What is applied is the difference, so a cause
whose file was changed since keeps the change, and a cause or a piece of evidence that came later keeps its hand weight.
``benchmarks/accuracy/corpus.py --fit`` makes it again and writes down how.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from .catalogue import catalogue
from .entry import CauseEntry

PATH = Path(__file__).with_name("weights.json")
Moved = tuple[float, float]  # the hand-set number, and what the fit made of it


class Fitted(msgspec.Struct, frozen=True):
    """One cause's numbers."""

    bias: Moved
    weights: dict[str, Moved] = {}


class WeightsTable(msgspec.Struct, frozen=True, kw_only=True):
    """``temperature`` divides the log weights of all sets; ``made`` says from what and with which command."""

    version: int
    temperature: float
    made: dict[str, str | int | float | list[str]]
    causes: dict[str, Fitted]


@cache
def table() -> WeightsTable:
    """The table that comes with the package."""
    return msgspec.json.decode(PATH.read_bytes(), type=WeightsTable)


@cache
def weighted_catalogue() -> dict[str, CauseEntry]:
    """Every cause by id, with its fitted weights."""
    return {name: fitted(entry, table()) for name, entry in catalogue().items()}


def fitted(entry: CauseEntry, weights: WeightsTable) -> CauseEntry:
    """``entry`` with what the fit added to its numbers; a sign that is the mechanism's never turns."""
    moved = weights.causes.get(entry.id)
    if moved is None:
        return entry
    found = {name: _moved(hand, moved.weights.get(name)) for name, hand in entry.weights.items()}
    return msgspec.structs.replace(entry, bias=entry.bias + moved.bias[1] - moved.bias[0], weights=found)


def _moved(hand: float, moved: Moved | None) -> float:
    if moved is None:
        return hand
    weight = hand + moved[1] - moved[0]
    return max(weight, 0.0) if hand > 0 else min(weight, 0.0)

"""What came of an experiment of the laboratory, as ``whystall lab run --json`` prints it."""

from __future__ import annotations

from typing import Literal

import msgspec


class ExpectedChange(msgspec.Struct, frozen=True):
    """What was expected of one figure, and what was seen. ``before`` and ``after`` are None where it was not seen.

    ``by`` says who expects it: a real ``scheduler`` (it is checked), or an ``article`` (it need not hold).
    """

    figure: str
    kind: str
    level: float
    by: str
    before: float | None
    after: float | None
    holds: bool


class LabResult(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment: the figures before and after, and the diagnosis (``causes`` the likeliest first).

    ``cause`` is what the diagnosis should name, "" where it should find a healthy server; ``verdict`` is why there is none
    where none could be made. ``as_expected`` is whether all
    that a real scheduler does was seen and the diagnosis is right.
    """

    experiment: str
    target: str
    before: dict[str, float | None]
    after: dict[str, float | None]
    expectations: tuple[ExpectedChange, ...]
    cause: str
    verdict: str
    causes: tuple[str, ...]
    as_expected: bool
    schema: Literal["whystall.lab/1"] = "whystall.lab/1"

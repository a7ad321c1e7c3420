"""How much load a server takes within its SLO. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .diagnosis import Notice
from .text import Text
from .trial import Metric

Held = Literal["holds", "fails"]
Broken = Literal["slo", "queue", "errors"]


class CapacityPoint(msgspec.Struct, frozen=True):
    """One rate that was tried. ``attainment``: the share of requests within the SLO; ``queue_grows``: more and more were
    under way, so the rate is over what the server can do however good the rest looks. ``broken`` says what did not hold.
    """

    rate: float
    verdict: Held
    requests: int
    seconds: float
    attainment: float | None
    queue_grows: bool
    figures: dict[Metric, float | None]
    broken: tuple[Broken, ...] = ()


class Capacity(msgspec.Struct, frozen=True):
    """The highest rate (requests a second) that held, and the lowest that did not: the capacity lies between.

    None where no rate held, or none failed, in the time. ``attainment`` is the share of requests that had to be within
    ``slo``. ``points`` are in the order in which they were tried.
    """

    target: str
    slo: str
    attainment: float
    rate: float | None
    fails_at: float | None
    because: Text
    points: tuple[CapacityPoint, ...]
    seconds: float
    load: str
    tokens_per_s: float | None = None
    findings: tuple[Notice, ...] = ()
    schema: Literal["whystall.stress/1"] = "whystall.stress/1"

"""What hours of the same load showed. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .diagnosis import Notice
from .text import Text
from .trial import Metric

SoakVerdict = Literal["steady", "worse", "failing", "unclear", "too short"]


class SoakWindow(msgspec.Struct, frozen=True):
    """One window of the load: when it began (unix seconds of the server), what its requests saw."""

    started: float
    seconds: float
    requests: int
    failed: int
    figures: dict[Metric, float | None]


class Trend(msgspec.Struct, frozen=True):
    """The last third of the windows against the first, as a relative change with a 95% interval; None where too few."""

    metric: Metric
    low: float | None
    mid: float | None
    high: float | None
    worst: float | None
    worst_at: float | None


class Soak(msgspec.Struct, frozen=True):
    """A server under one load for ``seconds``. steady: no metric got worse by its margin, which is shown; worse: one
    surely did; unclear: neither is shown; failing: over 1% of the requests failed; too short: under six windows.
    """

    target: str
    verdict: SoakVerdict
    because: Text
    windows: tuple[SoakWindow, ...]
    trends: tuple[Trend, ...]
    requests: int
    failed: int
    seconds: float
    load: str
    attainment: float | None = None
    findings: tuple[Notice, ...] = ()
    schema: Literal["whystall.soak/1"] = "whystall.soak/1"

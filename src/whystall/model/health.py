"""How everything that is watched did over some time: the health report. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .fleet import EngineCondition
from .incident import Incident
from .text import Text


class EngineHealth(msgspec.Struct, frozen=True):
    """One engine: how it is at the end, and of the report's time how many incidents it had and for how long (seconds).

    ``left_ratio`` is what is left of the nearest limit now, None where none is known.
    """

    id: str
    condition: EngineCondition
    headline: Text
    incidents: int
    trouble_s: float
    left_ratio: float | None = None


class HealthReport(msgspec.Struct, frozen=True):
    """``since`` to ``until`` (unix seconds): the engines, those with the most trouble first, and the incidents of that time
    without their diagnoses, the newest first. ``late_s`` is how long the watch itself was late lately; ``store_error`` why
    its store cannot be written, empty where it can."""

    since: float
    until: float
    engines: tuple[EngineHealth, ...]
    incidents: tuple[Incident, ...]
    late_s: float = 0.0
    store_error: Text = msgspec.field(default_factory=lambda: Text(""))
    schema: Literal["whystall.health/1"] = "whystall.health/1"

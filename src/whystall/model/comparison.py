"""Two recordings or servers side by side. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .diagnosis import Engine, Onset, Window
from .text import Text

Group = Literal["workload", "latency", "throughput", "saturation", "host", "gpu", "client"]
Better = Literal["lower", "higher", "neither"]


class Side(msgspec.Struct, frozen=True):
    """One of the two: what was looked at, and over which window."""

    target: str
    engine: Engine
    window: Window


class SettingChange(msgspec.Struct, frozen=True):
    """A setting that differs. None: not set, or nothing said so. ``kind`` is where it stands in the configuration."""

    name: str
    kind: Literal["flag", "limit", "property"]
    a: str | None
    b: str | None


class FigureChange(msgspec.Struct, frozen=True):
    """One figure of both. ``ratio`` is b/a; ``differs`` is whether it is over what chance and noise explain."""

    id: str
    group: Group
    label: Text
    unit: str
    a: float | None
    b: float | None
    ratio: float | None
    differs: bool
    better: Better = "neither"


class Departure(msgspec.Struct, frozen=True):
    """When a figure of B left for good the range that it had in A; ``onset`` None where B began outside it."""

    id: str
    label: Text
    onset: Onset | None


class Suspect(msgspec.Struct, frozen=True):
    """A cause that the two sides point to: what differs between them while the load does not."""

    cause: Literal["config_regression", "version_regression"]
    because: Text


class Comparison(msgspec.Struct, frozen=True):
    """B against A. ``departures`` is in order of time; ``engines`` holds a comparison each where there are several.

    ``headline`` is put in when it is printed.
    """

    a: Side
    b: Side
    configuration: tuple[SettingChange, ...]
    figures: tuple[FigureChange, ...]
    departures: tuple[Departure, ...]
    engines: tuple[Comparison, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    headline: Text = msgspec.field(default_factory=lambda: Text(""))
    schema: Literal["whystall.comparison/1"] = "whystall.comparison/1"

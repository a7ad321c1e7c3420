"""What is watched, at a glance and one by one. Field names are the published JSON contract."""

from __future__ import annotations

from typing import Literal

import msgspec

from .diagnosis import Coverage, Diagnosis, Engine, Limit, RuledOut, Verdict
from .incident import Burn, Forecast, Incident
from .text import Text

EngineCondition = Literal["starting", "ok", "warning", "incident", "unreachable"]
LinkCondition = Literal["ok", "slower", "lost", "away"]
Values = tuple[float | None, ...]


class Headroom(msgspec.Struct, frozen=True):
    """The limit that is nearest: how much of it is used now, in its own units, and the share that is left (0 to 1)."""

    limit: str
    used: float
    of: float
    left_ratio: float
    text: Text


class Spark(msgspec.Struct, frozen=True):
    """The last minutes as small lines: ``t`` unix seconds, the rest by scrape, null where nothing was seen.

    ``ttft_s`` and ``itl_s`` are means over each interval, ``tokens_per_s`` those generated.
    """

    t: tuple[float, ...] = ()
    running: Values = ()
    waiting: Values = ()
    kv_ratio: Values = ()
    ttft_s: Values = ()
    itl_s: Values = ()
    tokens_per_s: Values = ()


class FleetEngine(msgspec.Struct, frozen=True):
    """One engine. ``id`` is its place in the API; ``name`` what the configuration calls the target.

    ``verdict`` is null until a first diagnosis; ``binding_limit`` is the first cause's id, "" where nothing binds.
    ``incident`` is the number of the open one, 0 where there is none; ``since`` when that began. ``error`` is the name
    and text of what the last scrape met, "" where it gave a page, and ``error_text`` the same for a reader. ``cost_s`` is
    CPU that diagnosing it took so far. ``beside`` says what sets it apart from the others behind the same target.
    """

    id: str
    name: str
    target: str
    engine: Engine
    condition: EngineCondition
    verdict: Verdict | None
    headline: Text
    binding_limit: str = ""
    headroom: Headroom | None = None
    forecast: Forecast | None = None
    incident: int = 0
    since: float | None = None
    silenced: str = ""
    last_page: float | None = None
    scrapes: int = 0
    failed: int = 0
    error: str = ""
    error_text: Text = msgspec.field(default_factory=lambda: Text(""))
    spark: Spark = Spark()
    beside: Text = msgspec.field(default_factory=lambda: Text(""))
    cost_s: float = 0.0


class StoreState(msgspec.Struct, frozen=True):
    """The store on disk. ``error`` is why it cannot be written just now ("" where it can), ``error_text`` the same for a
    reader; ``held`` waits in memory."""

    path: str
    error: str = ""
    held: int = 0
    bytes: int = 0
    error_text: Text = msgspec.field(default_factory=lambda: Text(""))


class OwnState(msgspec.Struct, frozen=True):
    """Whether the watch itself comes to do its work. ``lag_s`` is how late its loop was at worst within the last minute,
    ``late_s`` how long it was late within the last quarter of an hour, ``excused`` how many scrapes that ran out of time
    were not held against their servers since it started; ``text`` says so, empty while it is in time."""

    late: bool = False
    lag_s: float = 0.0
    late_s: float = 0.0
    excused: int = 0
    text: Text = msgspec.field(default_factory=lambda: Text(""))


class Link(msgspec.Struct, frozen=True):
    """The way from this watch to another daemon: the last round of probes, at ``at`` (unix seconds).

    ``low_s median_s high_s`` of its round trips, null where none came back; ``usual_s`` is the median of the rounds before.
    ``t`` and ``rtts_s`` are the medians of the last minutes, oldest first, ``lost_ratio`` the share of their probes that
    did not come back.
    ``slower``: at least twice the usual, by 5 ms or more; ``lost``: over 2% gone in those minutes; ``away``: nothing came
    back in the last round.
    """

    peer: str
    at: float
    condition: LinkCondition
    low_s: float | None
    median_s: float | None
    high_s: float | None
    lost_ratio: float
    usual_s: float | None = None
    t: tuple[float, ...] = ()
    rtts_s: Values = ()


class Fleet(msgspec.Struct, frozen=True):
    """Everything that is watched, the worst first. ``at`` is unix seconds of whystall's own clock."""

    at: float
    started: float
    version: str
    engines: tuple[FleetEngine, ...]
    store: StoreState
    own: OwnState = msgspec.field(default_factory=OwnState)
    links: tuple[Link, ...] = ()
    schema: Literal["whystall.fleet/1"] = "whystall.fleet/1"


class ViewLine(msgspec.Struct, frozen=True):
    """One line of a panel; ``limit`` is a level that the server cannot pass."""

    id: str
    label: Text
    values: Values
    limit: float | None = None
    limit_label: Text | None = None


class ViewPanel(msgspec.Struct, frozen=True):
    """Lines that share one axis and one unit (``req ratio tok/s s 1/s W``)."""

    id: str
    title: Text
    unit: str
    lines: tuple[ViewLine, ...]


class Mark(msgspec.Struct, frozen=True):
    """A moment to draw: a cause's onset with its 90% interval, unix seconds."""

    id: str
    at: float
    low: float
    high: float
    label: Text


class Phase(msgspec.Struct, frozen=True):
    """A part of a request's time (``queue prefill decode``), seconds a request: its mean over the window, and over time."""

    id: str
    label: Text
    mean_s: float | None
    values: Values


class UsualFigure(msgspec.Struct, frozen=True):
    """What a figure usually is at this hour of the week (UTC), learned from calm looks: mean, standard deviation, looks.

    ``id`` is ``itl_s``, ``ttft_s``, ``tokens_per_s`` or ``running``.
    """

    id: str
    mean: float
    deviation: float
    looks: int


class IncidentCharts(msgspec.Struct, frozen=True):
    """An engine's timelines around an incident; empty where the store has none of that time. ``t`` is unix seconds."""

    incident: int
    t: tuple[float, ...] = ()
    panels: tuple[ViewPanel, ...] = ()
    schema: Literal["whystall.incident_charts/1"] = "whystall.incident_charts/1"


class EngineView(msgspec.Struct, frozen=True):
    """One engine's page. ``t`` is unix seconds for the panels, ``phases_t`` for the phases; lists go oldest first.

    ``links`` are the ways to its host, or from it where it is that of the watch.
    """

    engine: FleetEngine
    t: tuple[float, ...] = ()
    panels: tuple[ViewPanel, ...] = ()
    onsets: tuple[Mark, ...] = ()
    phases_t: tuple[float, ...] = ()
    phases: tuple[Phase, ...] = ()
    limits: tuple[Limit, ...] = ()
    diagnosis: Diagnosis | None = None
    ruled_out: tuple[RuledOut, ...] = ()
    coverage: Coverage = Coverage()
    burn: tuple[Burn, ...] = ()
    usual: tuple[UsualFigure, ...] = ()
    incidents: tuple[Incident, ...] = ()
    links: tuple[Link, ...] = ()
    schema: Literal["whystall.engine/1"] = "whystall.engine/1"

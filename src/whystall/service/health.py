"""The health of all that is watched over some time, from what the watch knows at its end."""

from __future__ import annotations

from msgspec.structs import replace

from whystall.model.fleet import FleetEngine
from whystall.model.health import EngineHealth, HealthReport
from whystall.model.incident import Incident

from .view import fleet
from .watcher import Watcher


def health(watcher: Watcher, since: float, until: float) -> HealthReport:
    """How every engine did from ``since`` to ``until`` (unix seconds)."""
    shown = fleet(watcher.lookout, watcher.store, watcher.started)
    of_then = [one for one in watcher.ledger.newest() if _seconds(one, since, until) > 0 or since <= one.since <= until]
    # A forecast that passed hurt nobody.
    hurt = [one for one in of_then if any(step.id == "opened" for step in one.steps)]
    engines = [_engine(engine, hurt, since, until) for engine in shown.engines]
    return HealthReport(
        since=since,
        until=until,
        engines=tuple(sorted(engines, key=lambda one: (-one.trouble_s, -one.incidents, one.id))),
        incidents=tuple(replace(one, diagnosis=None) for one in of_then),
        late_s=shown.own.late_s,
        store_error=shown.store.error_text,
    )


def _engine(engine: FleetEngine, incidents: list[Incident], since: float, until: float) -> EngineHealth:
    own = [one for one in incidents if one.engine_id == engine.id]
    return EngineHealth(
        id=engine.id,
        condition=engine.condition,
        headline=engine.headline,
        incidents=len(own),
        trouble_s=round(sum(_seconds(one, since, until) for one in own), 1),
        left_ratio=engine.headroom.left_ratio if engine.headroom else None,
    )


def _seconds(incident: Incident, since: float, until: float) -> float:
    """How long it lasted within that time."""
    end = incident.recovered if incident.recovered is not None else until
    return max(min(end, until) - max(incident.since, since), 0.0)

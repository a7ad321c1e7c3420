"""``/api/incidents/N/charts``: the engine's timelines around an incident, from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from aiohttp import web

from whystall.errors import NotMetrics, TooLittleData, WhystallError
from whystall.model.fleet import IncidentCharts
from whystall.model.incident import Incident
from whystall.model.recording import Recording
from whystall.model.target import Target
from whystall.sources.archive.store import Archive
from whystall.state.recorded import states_of
from whystall.state.timeline import timeline

from .api_answers import answered, language, refused
from .view import panels
from .watcher import Watcher

BEFORE_S, AFTER_S = 300.0, 120.0
LONGEST_S = 3600.0  # of a longer one the begin: what set it off is there


class Kept(NamedTuple):
    """An incident, and the store with its engine's pages; "" where nothing is kept."""

    incident: Incident
    server: str
    store: str


class IncidentChartsApi:
    """``kept`` finds an incident by its number. A thread does it: an hour of pages takes some tenths of a second, and who
    opens the page must not wait for a process to start."""

    def __init__(self, kept: Callable[[int], Kept | None]) -> None:
        self._kept = kept

    async def get(self, request: web.Request) -> web.Response:
        """The charts; empty ones where the store has none of that time."""
        found = self._kept(int(request.match_info["id"]))
        if found is None:
            raise web.HTTPNotFound(reason="no such incident")
        try:
            return answered(request, await asyncio.to_thread(charts, *found))
        except WhystallError as error:
            return refused(error, language(request))


def kept_by(watcher: Watcher) -> Callable[[int], Kept | None]:
    """What ``watcher`` knows of an incident."""

    def kept(number: int) -> Kept | None:
        incident = watcher.ledger.get(number)
        if incident is None:
            return None
        known = watcher.lookout.engine(incident.engine_id)
        # Of a server that is watched no more only the name is known: that of the engine, without the engine's label.
        name = known[0].name if known else incident.engine_id.removesuffix(f"~{incident.engine.id}")
        return Kept(incident, name, watcher.store.path)

    return kept


def charts(incident: Incident, server: str, store: str) -> IncidentCharts:
    """The timelines from five minutes before it began to two after its end, an hour at most. Raises what reading raises."""
    start = incident.since - BEFORE_S
    end = min((incident.updated if incident.recovered is None else incident.recovered) + AFTER_S, start + LONGEST_S)
    if not store:
        return IncidentCharts(incident.id)
    with Archive.read(Path(store)) as archive:
        table = archive.table(server, start, end)
    try:
        states = states_of(Recording(Target(incident.target), table))
    except (TooLittleData, NotMetrics):
        return IncidentCharts(incident.id)
    picture = timeline(next((one for one in states if one.engine.id == incident.engine.id), states[0]))
    times = tuple(round(picture.start + float(t), 3) for t in picture.t)
    return IncidentCharts(incident.id, times, panels(picture))

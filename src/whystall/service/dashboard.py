"""The dashboard: its pages, and what they ask for beside the fleet, its engines, incidents and cases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from .api_catalogue import get_catalogue
from .api_incident_charts import IncidentChartsApi, Kept
from .api_postmortem import PostmortemApi
from .api_traces import MAX_UPLOAD_BYTES, TracesApi
from .api_whatif import EngineWindow, WhatIfApi, Windows
from .lookout import Lookout
from .side_process import SideProcess
from .static_files import get_file


class Dashboard:
    """What it shows comes from ``windows``, the store of ``cases`` and the folder of ``traces`` (None where there is none),
    and what is kept of ``incidents``.

    ``add_to`` is what :meth:`whystall.service.http.Face.app` takes as ``more``. Without a token the guard must let
    :func:`whystall.service.static_files.open_paths` through.
    """

    def __init__(
        self,
        windows: Windows,
        cases: Path | None = None,
        traces: Path | None = None,
        max_upload_bytes: int = MAX_UPLOAD_BYTES,
        incidents: Callable[[int], Kept | None] = lambda _number: None,
    ) -> None:
        self._side = SideProcess()
        self._whatif = WhatIfApi(self._side, windows)
        self._traces = TracesApi(self._side, traces, max_upload_bytes)
        self._postmortem = PostmortemApi(cases)
        self._charts = IncidentChartsApi(incidents)

    def add_to(self, app: web.Application) -> None:
        """Add every route; the side process ends with the application."""
        app.router.add_get("/", get_file)
        app.router.add_get("/web/{name}", get_file)
        app.router.add_get("/api/catalogue", get_catalogue)
        app.router.add_get("/api/cases/{id:[0-9]{1,9}}/postmortem", self._postmortem.get)
        app.router.add_get("/api/incidents/{id:[0-9]{1,9}}/charts", self._charts.get)
        app.router.add_get("/api/traces", self._traces.list)
        app.router.add_get("/api/traces/{name}", self._traces.pick)
        app.router.add_post("/api/traces", self._traces.upload)
        app.router.add_get("/api/whatif/{id}", self._whatif.form)
        app.router.add_post("/api/whatif", self._whatif.ask)
        app.on_cleanup.append(self._close)

    async def _close(self, _app: web.Application) -> None:
        self._side.close()


def windows_of(lookout: Lookout) -> Windows:
    """What a what-if is played on: the window of an engine that ``lookout`` would look at now."""

    def window(id: str) -> EngineWindow | None:
        found = lookout.engine(id)
        if found is None:
            return None
        server, engine = found
        return EngineWindow(server.current(engine), engine.label, server.slo)

    return window

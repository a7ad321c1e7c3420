"""An incident's charts come from the store, long after the engine's own window has moved on."""

from pathlib import Path

import jsonschema
import pytest
from aiohttp.test_utils import TestClient, TestServer
from msgspec.structs import replace

from kept_incidents import INCIDENT
from watched_pages import START, Emulated
from whystall.model.incident import Incident
from whystall.reports.schema import schema
from whystall.service.api_incident_charts import Kept, charts, kept_by
from whystall.service.dashboard import Dashboard, windows_of
from whystall.service.guard import Guard
from whystall.service.http import Face
from whystall.service.keeper import Keeper
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.server import Watching
from whystall.service.static_files import open_paths
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers
from whystall.sources.archive.store import Archive


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """Twenty minutes of pages, in which the pool is too small from the fifth on."""
    path = tmp_path_factory.mktemp("store") / "w.sqlite"
    emulated = Emulated("kv_capacity", at=300, until=500)
    with Archive.open(path) as archive:
        for _ in range(240):
            emulated.now += 5.0
            emulated.deployment.advance(emulated.now)
            page = emulated.parser.parse(emulated.deployment.page().encode())
            archive.add("a", emulated.now, page, emulated.parser.keys)
    return path


def incident(since: float, recovered: float | None) -> Incident:
    return replace(
        INCIDENT,
        since=START + since,
        updated=START + (recovered or since + 60),
        recovered=recovered and START + recovered,
    )


def test_the_charts_reach_from_before_its_begin_to_after_its_end(store):
    found = charts(incident(302, 520), "a", str(store))
    assert found.t[0] - START == pytest.approx(10, abs=6)
    assert found.t[-1] - START == pytest.approx(640, abs=6)
    waiting = next(
        line for panel in found.panels if panel.id == "requests" for line in panel.lines if line.id == "waiting"
    )
    assert max(value for value in waiting.values if value is not None) > 10


def test_of_one_that_lasts_the_begin_is_shown(store):
    found = charts(incident(302, None), "a", str(store))
    assert found.t[-1] - START == pytest.approx(302 + 60 + 120, abs=6)


@pytest.mark.parametrize("server", ["b", ""])
def test_without_pages_there_are_none(store, server):
    assert charts(incident(302, 520), server, str(store)).t == ()
    assert charts(incident(302, 520), server, "").panels == ()


async def test_over_http(store, tmp_path):
    keeper = Keeper(Archive.open(tmp_path / "own.sqlite"), Log(write=lambda _: None))
    watcher = Watcher(Watching(), Ledger(keeper), Workers(0), Log(write=lambda _: None), keeper=keeper)
    number = watcher.ledger.write(replace(incident(302, 520), id=0)).id
    kept = kept_by(watcher)
    assert kept(number + 1) is None
    dashboard = Dashboard(
        windows_of(watcher.lookout), incidents=lambda n: (one := kept(n)) and Kept(one.incident, one.server, str(store))
    )
    app = Face(watcher, Guard("", open_paths())).app(dashboard.add_to)
    async with TestClient(TestServer(app)) as client:
        answer = await client.get(f"/api/incidents/{number}/charts?lang=zh")
        body = await answer.json()
        assert (await client.get("/api/incidents/99/charts")).status == 404
    keeper.close()
    jsonschema.validate(body, schema("incident_charts"))
    assert body["incident"] == number
    assert len(body["t"]) > 100

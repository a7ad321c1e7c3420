"""What a backend gets by OTLP: metrics, incidents, and again what it did not take."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from kept_incidents import INCIDENT
from otlp_backend import Backend, attributes
from servers import http_server
from whystall.cli.settings import load_settings
from whystall.errors import UsageError
from whystall.model.incident import Happening
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.otlp_export import MOST_WAITING, OtlpExport
from whystall.service.otlp_messages import metrics_message
from whystall.service.own_metrics import Family
from whystall.service.server import Watching
from whystall.service.settings import OtlpSettings
from whystall.service.target import WatchTarget
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

OPENED = Happening("opened", replace(INCIDENT, state="open", recovered=None))
ENDED = Happening("recovered", replace(INCIDENT, state="recovered", recovered=INCIDENT.updated))


def watcher() -> Watcher:
    found = Watcher(Watching(), Ledger(), Workers(0), Log(write=lambda _: None))
    found.found("prod", WatchTarget("prod", "http://gpu7:8000"))
    found.lookout.servers["prod"].fail(1000.0, "Unreachable", "nothing answers at http://gpu7:8000")
    return found


@asynccontextmanager
async def sending(backend: Backend, prefix: str = "", lines: list[str] | None = None):
    async with http_server(backend.handler) as url:
        log = Log(write=(lines if lines is not None else []).append)
        export = OtlpExport(OtlpSettings(f"{url}{prefix}"), log)
        async with Session(Address.parse(f"{url}{prefix}"), Access()) as session:
            yield export, session


async def test_metrics_and_what_happened_are_sent_as_otlp_has_them():
    backend = Backend()
    async with sending(backend) as (export, session):
        export.tell(OPENED)
        export.tell(ENDED)
        await export.once(session, watcher())
    assert backend.headers["Content-Type"] == "application/x-protobuf"
    (resource,) = backend.metrics[0].resource_metrics
    assert attributes(resource.resource.attributes)["service.name"] == "whystall"
    named = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    (up,) = named["whystall_up"].gauge.data_points
    assert (up.as_double, attributes(up.attributes)["target"]) == (0.0, "prod")
    total = named["whystall_scrapes_failed"].sum
    assert (total.is_monotonic, total.aggregation_temporality) == (True, 2)
    assert 0 < total.data_points[0].start_time_unix_nano <= total.data_points[0].time_unix_nano
    first, last = backend.logs[0].resource_logs[0].scope_logs[0].log_records
    assert (first.severity_text, last.severity_text) == ("ERROR", "INFO")
    assert " OPENED " in first.body.string_value
    told = attributes(first.attributes)
    assert told["event.name"] == "whystall.incident"
    assert told["whystall.incident.uid"] == INCIDENT.uid
    assert first.time_unix_nano == int(INCIDENT.updated * 1e9)


def test_half_a_character_of_a_label_does_not_stop_it():
    family = Family("whystall_up", "gauge", "x", (("", {"target": "a\ud800"}, 1.0),))
    assert ExportMetricsServiceRequest.FromString(metrics_message([family], 2.0, 1.0)).resource_metrics
    assert metrics_message([Family("x", "gauge", "nothing", ())], 2.0, 1.0) == metrics_message([], 2.0, 1.0)


async def test_what_a_backend_did_not_take_is_sent_again_and_named_once():
    backend, lines = Backend(), []
    async with sending(backend, lines=lines) as (export, session):
        backend.status = 503
        export.tell(OPENED)
        await export.once(session, watcher())
        await export.once(session, watcher())
        assert (export.failed, len([line for line in lines if "OTLP could not be sent" in line])) == (2, 1)
        backend.status = 200
        await export.once(session, watcher())
        assert [len(one.resource_logs[0].scope_logs[0].log_records) for one in backend.logs] == [1]
        await export.once(session, watcher())
    assert len(backend.logs) == 1
    assert any("sent again" in line for line in lines)


@pytest.mark.parametrize(("status", "said"), [(401, "credentials"), (404, "OTLP endpoint"), (429, "429")])
async def test_a_backend_that_refuses_is_named(status: int, said: str):
    backend, lines = Backend(), []
    async with sending(backend, lines=lines) as (export, session):
        backend.status = status
        await export.once(session, watcher())
    assert said in lines[0]


async def test_a_path_before_it_and_a_key_go_along(monkeypatch):
    backend = Backend()
    monkeypatch.setenv("KEY", "secret")
    async with http_server(backend.handler) as url:
        settings = OtlpSettings(f"{url}/otlp", header="dd-api-key", key_env="KEY", every="1s")
        task = asyncio.create_task(OtlpExport(settings, Log(write=lambda _: None)).run(watcher()))
        await asyncio.wait_for(backend.news.wait(), 30)
        task.cancel()
    assert backend.headers["dd-api-key"] == "secret"
    assert OtlpSettings("http://a", key_env="KEY").access().token == "secret"


def test_the_newest_wait_where_nobody_takes_them():
    export = OtlpExport(OtlpSettings("http://127.0.0.1:1"), Log(write=lambda _: None))
    for number in range(MOST_WAITING + 5):
        export.tell(Happening("opened", replace(INCIDENT, id=number)))
    assert export._waiting[0].incident.id == 5


@pytest.mark.parametrize(
    "text", ['endpoint = "nothing here"', 'endpoint = "http://a"\nevery = "soon"', 'endpoint = "http://a"\nlang = "fr"']
)
def test_settings_that_cannot_be_are_refused(tmp_path, text: str):
    path = tmp_path / "whystall.toml"
    path.write_text(f"[watch.otlp]\n{text}\n")
    with pytest.raises(UsageError, match=r"watch\.otlp"):
        load_settings(path)

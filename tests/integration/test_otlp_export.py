"""The daemon's OTLP through a real collector (rotel) to whoever keeps it."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from integration_processes import process
from otlp_backend import Backend, attributes
from servers import http_server
from whystall.service.daemon import Plan
from whystall.service.settings import OtlpSettings, WatchSettings
from whystall.service.target import WatchTarget

from .test_watch_trouble import FAST, daemon

FOUND = importlib.util.find_spec("rotel")
ROTEL = Path(FOUND.origin).with_name("rotel-agent") if FOUND is not None and FOUND.origin else Path("/no/rotel")


@pytest.mark.skipif(not ROTEL.is_file(), reason="needs rotel")
async def test_an_incident_and_the_metrics_come_through_a_collector(
    tmp_path: Path, free_port: Callable[[], int]
) -> None:
    backend, (http, grpc) = Backend(), (free_port(), free_port())

    async with http_server(backend.handler) as url:
        collector = [str(ROTEL), "start", "--otlp-http-endpoint", f"127.0.0.1:{http}"]
        collector += [
            "--otlp-grpc-endpoint",
            f"127.0.0.1:{grpc}",
            "--exporter",
            "otlp",
            "--otlp-exporter-protocol",
            "http",
        ]
        collector += [
            "--otlp-exporter-endpoint",
            url,
            "--pid-file",
            str(tmp_path / "pid"),
            "--log-file",
            str(tmp_path / "log"),
        ]
        with ExitStack() as all_:
            all_.enter_context(process(*collector))
            settings = WatchSettings(otlp=OtlpSettings(f"http://127.0.0.1:{http}", every="1s"))
            plan = Plan((WatchTarget("dead", "http://127.0.0.1:1"),), FAST, host="", workers=0, settings=settings)
            async with daemon(plan), asyncio.timeout(120):
                while not (backend.logs and backend.metrics):
                    await backend.news.wait()
                    backend.news.clear()
    record = backend.logs[0].resource_logs[0].scope_logs[0].log_records[0]
    assert attributes(record.attributes)["whystall.engine"] == "dead"
    assert "No page: Unreachable" in record.body.string_value
    names = {
        m.name for one in backend.metrics for r in one.resource_metrics for s in r.scope_metrics for m in s.metrics
    }
    assert {"whystall_up", "whystall_incident", "whystall_scrapes_failed"} <= names

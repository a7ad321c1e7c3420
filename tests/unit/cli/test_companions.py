"""Exporters and spans beside a server that is looked at."""

from __future__ import annotations

import json

import aiohttp
import pytest
from aiohttp import web

from servers import counter_page, http_server, pages
from whystall.cli.companions import Companions, with_companions
from whystall.errors import NotMetrics, Unreachable, UsageError
from whystall.sources.live.access import Access
from whystall.sources.live.collector import CollectSpec, collect

DCGM = (
    'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",modelName="H200"} 70\nDCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a"} 1980\n'
)
NODE = 'node_load1 3\nnode_cpu_seconds_total{cpu="0",mode="idle"} 5\nnode_cpu_seconds_total{cpu="0",mode="user"} 5\n'
OPEN = Access()


def looked(base, beside, seconds=1.0, access=OPEN):
    spec = CollectSpec(base, seconds=seconds, interval_s=0.1, access=access)
    return with_companions(collect(spec), beside, seconds, 0.1, access)


async def test_gpu_and_host_from_exporters_without_the_servers_token():
    seen = []

    async def dcgm(request):
        seen.append(dict(request.headers))
        return web.Response(text=DCGM)

    page = counter_page(1)
    async with http_server(pages(page)) as base, http_server(dcgm) as gpu, http_server(pages(NODE)) as node:
        found = await looked(base, Companions(dcgm=gpu, node_exporter=node), access=Access(token="secret"))
    assert found.gpu is not None
    assert found.gpu.util_ratio[0] == pytest.approx(0.7)
    assert found.host is not None
    assert not any("Authorization" in headers for headers in seen)


async def test_round_trips_to_the_hosts_of_other_daemons():
    async def healthz(request):
        return web.json_response({"ok": True}, status=200 if request.path == "/healthz" else 404)

    async with http_server(pages(counter_page(1))) as base, http_server(healthz) as peer:
        found = await looked(base, Companions(peers=(peer,)))
    assert found.links is not None
    assert set(found.links.peer) == {peer.removeprefix("http://")}
    assert found.links.lost.sum() == 0


async def test_spans_that_come_meanwhile(free_port):
    port = free_port()
    span = {"name": "llm_request", "startTimeUnixNano": str(10**18), "endTimeUnixNano": str(10**18 + 10**9)}
    export = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    sent = []

    async def server(request):
        if request.path == "/metrics" and not sent:
            sent.append(True)
            async with aiohttp.ClientSession() as client:
                url = f"http://127.0.0.1:{port}/v1/traces"
                await client.post(url, data=export, headers={"Content-Type": "application/json"})
        return await pages(counter_page(1))(request)

    async with http_server(server) as base:
        found = await looked(base, Companions(otlp_listen=f"127.0.0.1:{port}"))
        none = await looked(base, Companions(otlp_listen=f"127.0.0.1:{free_port()}"), seconds=0.2)
    assert len(found.spans) == 1
    assert [warning.id for warning in none.warnings if warning.id == "no_spans"] == ["no_spans"]


async def test_what_is_wrong_is_named(free_port):
    async with http_server(pages(counter_page(1))) as base:
        with pytest.raises(NotMetrics, match="neither DCGM's nor node_exporter's"):
            await looked(base, Companions(dcgm=base))
        with pytest.raises(Unreachable):
            await looked(base, Companions(node_exporter=f"http://127.0.0.1:{free_port()}"))
        with pytest.raises(UsageError, match="no address to listen at"):
            await looked(base, Companions(otlp_listen="here"))

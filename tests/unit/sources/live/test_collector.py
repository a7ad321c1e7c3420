"""What a collection makes of the parts; tests/integration runs it against servers of every kind."""

import asyncio
import os
from pathlib import Path

import pytest
from aiohttp import web

from servers import counter_page, http_server, pages
from whystall.errors import NotWritable, UsageError
from whystall.sources.live import beside
from whystall.sources.live.access import Access
from whystall.sources.live.collector import CollectSpec, collect
from whystall.sources.live.processes import ServerProcesses
from whystall.sources.live.sink import Row, Sink


async def test_beside_the_server_its_process_is_read() -> None:
    stop = asyncio.Event()

    class UntilTwoRows(Sink):
        rows = 0

        def host(self, row: Row) -> None:
            self.rows += 1
            if self.rows == 2:
                stop.set()

    async with http_server(pages(counter_page(1))) as url:
        found = await collect(CollectSpec(url, seconds=60, interval_s=0.1), sink=UntilTwoRows(), stop=stop)
    assert found.host is not None
    assert os.getpid() in [process.pid for process in found.host.processes]  # this very process serves
    assert found.target.text == url
    assert found.target.kind == "url"


async def test_an_endpoint_that_hangs_costs_no_scrapes() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path != "/metrics":
            await asyncio.sleep(30)
        return web.Response(text=counter_page(1))

    async with http_server(handler) as url:
        found = await collect(CollectSpec(url, seconds=0.3, interval_s=0.05, access=Access(timeout_s=1)))
    assert len(found.metrics.times) > 1
    assert found.version == ""
    assert [health.status for health in found.health] == [0, 0]


async def test_what_fails_beside_is_raised() -> None:
    class Full(Sink):
        def host(self, row: Row) -> None:
            raise NotWritable("the disk is full", "free some")

    async with http_server(pages(counter_page(1))) as url:
        with pytest.raises(NotWritable):
            await collect(CollectSpec(url, seconds=60, interval_s=0.1), sink=Full())


async def test_an_emulator_or_a_replay_has_no_host_to_read() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text=counter_page(1), headers={"X-Whystall-Clock": "1000", "X-Whystall-Speed": "step"})

    async with http_server(handler) as url:
        found = await collect(CollectSpec(url, seconds=2))
    assert found.host is None
    assert list(found.metrics.times) == [1000.0]


async def test_behind_a_tunnel_this_host_is_not_read(monkeypatch) -> None:
    monkeypatch.setattr(beside, "find_server", lambda port: ServerProcesses(missing="a tunnel", elsewhere=True))
    async with http_server(pages(counter_page(1))) as url:
        found = await collect(CollectSpec(url, seconds=0.3, interval_s=0.1))
    assert found.host is None


async def test_the_arguments_are_split_and_carry_no_secret() -> None:
    async with http_server(pages(counter_page(1))) as url:
        spec = CollectSpec(
            url, seconds=0.1, interval_s=0.1, server_args="vllm serve 'a b' --api-key hush --max-num-seqs 4"
        )
        found = await collect(spec)
    assert found.argv == ("vllm", "serve", "a b", "--api-key", "***", "--max-num-seqs", "4")


@pytest.mark.parametrize("spec", [{"server_args": "vllm 'serve"}, {"log": Path("/no/such.log")}, {"interval_s": 1e-6}])
async def test_options_that_cannot_be_used_are_refused_before_anything_is_sent(spec: dict, free_port) -> None:
    with pytest.raises(UsageError):
        await collect(CollectSpec(f":{free_port()}", **spec))


async def test_the_log_becomes_lines_and_what_was_wrong_is_said(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"(EngineCore pid=2) INFO 11-30 00:45:35 [x.py:1] Using max model len 4096\n\xff\xfe\n")
    page = (
        counter_page(1)
        + 'vllm:request_success_total{engine="1"} -5\n'
        + 'vllm:num_requests_running{engine="1"} 1\n' * 2
    )
    async with http_server(pages(page)) as url:
        found = await collect(CollectSpec(url, seconds=0.1, interval_s=0.1, log=log))
    assert found.log[0].text == "Using max model len 4096"
    assert {warning.id for warning in found.warnings} == {"not_utf8_log", "negative_counter", "duplicate_series"}


async def test_what_is_not_kept_goes_to_the_sink_alone() -> None:
    async with http_server(pages(counter_page(1))) as url:
        found = await collect(CollectSpec(url, seconds=0.1, interval_s=0.05, keep=False))
    assert found.metrics.values.shape[1] == 0
    assert found.host is None

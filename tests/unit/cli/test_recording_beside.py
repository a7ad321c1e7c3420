"""What an exporter, the kernel and a receiver of spans give a recording, on a real server."""

import asyncio

import pytest
from aiohttp import web

from servers import http_server
from whystall.cli.companions import Companions
from whystall.cli.recording_beside import beside
from whystall.errors import UsageError, WhystallError
from whystall.sources.live.sink import Sink

HOST = 'node_cpu_seconds_total{cpu="0",mode="idle"} 5\nnode_load1 0.5\n'


class Kept(Sink):
    def __init__(self) -> None:
        self.gpus, self.hosts, self.said = [], [], []

    def gpu(self, rows) -> None:
        self.gpus += rows

    def host(self, row) -> None:
        self.hosts.append(row)

    def kernel(self, lines) -> None:
        self.said += [line.text for line in lines]


async def test_rows_of_each_page_once_and_the_faults_between_two(tmp_path):
    pages = 0

    async def answer(_request: web.Request) -> web.Response:
        nonlocal pages
        pages += 1
        xid = 79 if pages > 1 else 0
        gpu = f'DCGM_FI_DEV_POWER_USAGE{{gpu="0",UUID="g"}} {pages}\nDCGM_FI_DEV_XID_ERRORS{{gpu="0",UUID="g"}} {xid}\n'
        return web.Response(text=gpu + HOST)

    kept, kernel = Kept(), tmp_path / "kernel.log"
    kernel.write_text("2026-11-30T08:00:00+00:00 a kernel: Out of memory: Killed process 7 (vllm)\n")
    async with http_server(answer) as url, beside(kept, Companions(dcgm=url), kernel, 0.1, 5.0):
        assert kept.gpus  # the first page is there before the server is looked at
        while not kept.said:
            await asyncio.sleep(0.05)
    assert [row["power_w"] for row in kept.gpus] == [float(n + 1) for n in range(len(kept.gpus))]
    assert len(kept.hosts) == len(kept.gpus)
    assert kept.said == ["NVRM: Xid (DCGM, GPU 0): 79", "Out of memory: Killed process 7 (vllm)"]


@pytest.mark.parametrize("named", [Companions(dcgm="http://127.0.0.1:1"), Companions(zipkin="http://127.0.0.1:1")])
async def test_what_cannot_be_is_said_before_anything_is_recorded(named):
    with pytest.raises(WhystallError) as raised:
        async with beside(Sink(), named, None, 1.0, 1.0):
            raise AssertionError("it began")
    assert isinstance(raised.value, UsageError) == bool(named.zipkin)

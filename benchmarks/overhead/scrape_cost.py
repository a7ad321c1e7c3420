"""What being read costs a server, and what reading costs us: CPU milliseconds a scrape.

Reads ``/metrics`` as whystall does, N times, and takes the CPU time of the server's process tree before and after, less
what it uses in an equally long time without being read. Without ``--url`` the server is benchmarks/overhead/server.py
with the series of a recorded vLLM page. For a real one give its address and the pid of its API server:

    python benchmarks/overhead/scrape_cost.py [--url http://localhost:8000 --pid 1234] [--scrapes 300]

Prints a table and appends one JSON line to ``benchmarks/results/overhead.jsonl``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from whystall.sources.exposition import PageParser
from whystall.sources.live.address import Address
from whystall.sources.live.beside import Beside
from whystall.sources.live.clock import Clock
from whystall.sources.live.collector import CollectSpec, collect
from whystall.sources.live.host import HostSampler
from whystall.sources.live.http import Session
from whystall.sources.live.recorder import Recorder
from whystall.sources.live.sink import Sink
from whystall.sources.table import TableBuilder

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "tests" / "data" / "recordings" / "healthy" / "metrics.prom.gz"
LIMIT_SHARE = 0.001  # of one core, at one scrape a second
ROUNDS = 5
LIVE_S = 20.0


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and all below it, exact to a clock tick."""
    total = 0.0
    for process in [root := psutil.Process(pid), *root.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def own_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@contextlib.contextmanager
def emulated(page: Path) -> Iterator[tuple[str, int]]:
    command = [sys.executable, str(Path(__file__).with_name("server.py")), str(page)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}", server.pid
        server.stdin.close()


async def one_round(session: Session, pid: int, scrapes: int, keep: Recorder) -> dict[str, float]:
    """CPU milliseconds a scrape, of the server and of us, over ``scrapes`` scrapes without pause."""
    parser = PageParser()
    table = TableBuilder(parser)
    await session.metrics()
    started, server, ours = time.monotonic(), cpu_s(pid), own_s()
    for number in range(scrapes):
        answer = await session.metrics()
        table.add(float(number), parser.parse(answer.body))
        keep.page(float(number), answer.body)
    took, server, ours = time.monotonic() - started, cpu_s(pid) - server, own_s() - ours
    idle_before = cpu_s(pid)
    await asyncio.sleep(took)
    idle = cpu_s(pid) - idle_before
    return {
        "server_ms": (server - idle) / scrapes * 1e3,
        "ours_ms": ours / scrapes * 1e3,
        "page_kb": len(answer.body) / 1e3,
        "series": float(len(parser.keys)),
    }


async def with_gzip(address: Address, pid: int, scrapes: int) -> float:
    """The server's milliseconds a scrape for a reader that asks for a packed page, as Prometheus does."""
    session = Session(address)
    session._headers["Accept-Encoding"] = "gzip"  # whystall never asks for it; the difference is what that saves
    async with session:
        await session.metrics()
        before = cpu_s(pid)
        for _ in range(scrapes):
            await session.metrics()
        return (cpu_s(pid) - before) / scrapes * 1e3


def host_ms(port: int) -> float:
    """Our milliseconds for a row of the host and the server's processes."""
    clock = Clock()
    beside = Beside(port, clock, clock.now(), 1.0, Sink(), keep=False)
    sampler = HostSampler(beside.server)
    before = own_s()
    for _ in range(200):
        sampler.sample(0.0)
    return (own_s() - before) / 200 * 1e3


async def live_share(url: str, seconds: float) -> float:
    """Our share of one core while everything is collected once a second: pages, host, processes, GPUs."""
    before, started = own_s(), time.monotonic()
    await collect(CollectSpec(url, seconds=seconds))
    return (own_s() - before) / (time.monotonic() - started)


async def measure(url: str, pid: int, scrapes: int) -> dict[str, float]:
    address = Address.parse(url)
    with tempfile.TemporaryDirectory() as folder, Recorder(Path(folder) / "r") as keep:
        async with Session(address) as session:
            rounds = [await one_round(session, pid, scrapes, keep) for _ in range(ROUNDS)]
    found = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    found["server_ms_low"] = min(one["server_ms"] for one in rounds)
    found["server_ms_high"] = max(one["server_ms"] for one in rounds)
    found["server_gzip_ms"] = await with_gzip(address, pid, scrapes)
    found["host_row_ms"] = host_ms(address.port)
    found["whystall_share_of_core_at_1s"] = await live_share(url, LIVE_S)
    found["server_share_of_core_at_1s"] = found["server_ms"] / 1e3
    return {name: round(value, 5) for name, value in found.items()}


def report(found: dict[str, float], kind: str) -> None:
    print(f"{kind}: {found['series']:.0f} series, {found['page_kb']:.0f} kB, {os.cpu_count()} cores")
    print(f"  the server, a scrape     {found['server_ms']:8.3f} ms CPU ({found['server_ms_low']:.3f} to ", end="")
    print(f"{found['server_ms_high']:.3f})")
    print(f"  of one core at 1 s       {found['server_share_of_core_at_1s']:8.3%}   (the aim: under {LIMIT_SHARE:.1%})")
    print(f"  were the page packed     {found['server_gzip_ms']:8.3f} ms CPU")
    print(f"  whystall, a scrape       {found['ours_ms']:8.3f} ms CPU (fetched, parsed, recorded)")
    share = found["whystall_share_of_core_at_1s"]
    print(f"  whystall, all of it      {share:8.3%}   of one core at 1 s, over {LIVE_S:.0f} s with its start")
    print(f"  whystall, a host row     {found['host_row_ms']:8.3f} ms CPU")


def main() -> int:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a running server")
    parser.add_argument("--name", default="real server", help="what runs at --url")
    parser.add_argument("--pid", type=int, help="its API server's process")
    parser.add_argument("--scrapes", type=int, default=300)
    parser.add_argument("--page", type=Path, default=PAGE, help="the recorded page to serve without --url")
    asked = parser.parse_args()
    if bool(asked.url) != bool(asked.pid):
        parser.error("--url and --pid belong together")
    if asked.url:
        kind, found = asked.name, asyncio.run(measure(asked.url, asked.pid, asked.scrapes))
    else:
        kind = "prometheus_client with a recorded page"
        with emulated(asked.page) as (url, pid):
            found = asyncio.run(measure(url, pid, asked.scrapes))
    report(found, kind)
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    line = {"commit": git.stdout.strip(), "time": int(time.time()), "server": kind, "scrapes": asked.scrapes, **found}
    with (ROOT / "benchmarks" / "results" / "overhead.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

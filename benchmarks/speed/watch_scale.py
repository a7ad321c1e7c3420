"""What one engine costs `whystall watch`, in CPU and on disk, and how many engines two cores and 1.5 GB hold.

CPU seconds of this process, not wall time, because the machine is shared. A page is read over loopback HTTP, parsed, kept
in the store and taken by the watcher; a look is a diagnosis of the last five minutes. The figures for 1,000 engines and
for 30 days are these costs multiplied, which is said in docs/scale.md; nothing was run for that long. Appends one JSON line
to ``benchmarks/results/scale.jsonl``.

    python benchmarks/speed/watch_scale.py [--minutes 20] [--store-minutes 60]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import subprocess
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults.scene import healthy_serving
from whystall.service.keeper import Keeper
from whystall.service.log import Log
from whystall.service.look import look
from whystall.service.lookout import Lookout
from whystall.service.server import Watching
from whystall.sources.archive.store import Archive
from whystall.sources.exposition import PageParser
from whystall.sources.live.access import Access
from whystall.sources.live.address import Address
from whystall.sources.live.http import Session

ROOT = Path(__file__).resolve().parents[2]
START = 1_790_000_000.0
INTERVAL_S, ENGINES, CORES = 5.0, 1000, 2
DAY_S, WEEK_S, MONTH_S, STEP_S = 86_400.0, 7 * 86_400.0, 30 * 86_400.0, 10.0


def pages(minutes: float, step_s: float) -> list[bytes]:
    """A healthy server's pages, ``step_s`` apart."""
    deployment = Deployment(healthy_serving("healthy"), start=START)
    found = []
    for number in range(int(minutes * 60 / step_s)):
        deployment.advance(START + number * step_s)
        found.append(deployment.page().encode())
    return found


def serve(bodies: list[bytes], pipe: Connection) -> None:
    """In a process of its own: the pages one after the other at ``/metrics``."""
    from aiohttp import web

    async def main() -> None:
        place = 0

        async def answer(_request: web.Request) -> web.Response:
            nonlocal place
            place += 1
            return web.Response(body=bodies[place % len(bodies)], content_type="text/plain")

        app = web.Application()
        app.router.add_get("/metrics", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def fetch_s(bodies: list[bytes], times: int = 300) -> float:
    """CPU seconds of one page over HTTP, with the text in hand."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(bodies, theirs), daemon=True)
    server.start()
    try:
        return asyncio.run(_fetch_s(f"http://127.0.0.1:{ours.recv()}", times))
    finally:
        server.kill()
        server.join()


async def _fetch_s(url: str, times: int) -> float:
    async with Session(Address.parse(url), Access()) as session:
        await session.metrics()
        begun = time.process_time()
        for _ in range(times):
            await session.metrics()
        return (time.process_time() - begun) / times


def watching_s(bodies: list[bytes], folder: Path) -> dict[str, float]:
    """CPU seconds a page (parsed, kept, taken), CPU seconds a look, and looks a minute of a healthy engine."""
    keeper = Keeper(Archive.open(folder / "watch.sqlite"), Log(), keep_s=MONTH_S, full_s=WEEK_S)
    lookout = Lookout(Watching(interval_s=INTERVAL_S), keeper)
    lookout.watch("a", "http://a:8000")
    parser, page_s, look_s, looks = PageParser(), 0.0, 0.0, 0
    for number, body in enumerate(bodies):
        t = START + number * INTERVAL_S
        begun = time.process_time()
        page = parser.parse(body)
        keeper.add("a", t, page, parser.keys)
        job = lookout.take("a", t, page, parser.keys)
        page_s += time.process_time() - begun
        if job is not None:
            begun = time.process_time()
            lookout.looked(job, look(job))
            look_s, looks = look_s + time.process_time() - begun, looks + 1
    keeper.close()
    minutes = len(bodies) * INTERVAL_S / 60
    return {"page_s": page_s / len(bodies), "look_s": look_s / max(looks, 1), "looks_per_min": looks / minutes}


def stored_bytes(bodies: list[bytes], folder: Path) -> dict[str, float]:
    """Bytes a page at a scrape a second, and a page that is left of ten once it is thinned."""
    parser, archive = PageParser(), Archive.open(folder / "store.sqlite")
    for number, body in enumerate(bodies):
        archive.add("a", START + number, parser.parse(body), parser.keys)
    full = _size(archive)
    end = START + len(bodies)
    archive.age(end + 2 * DAY_S, 1e12, DAY_S, STEP_S)
    thinned = _size(archive)
    archive.close()
    return {"full": full / len(bodies), "thinned": thinned / (len(bodies) / STEP_S)}


def _size(archive: Archive) -> float:
    """Bytes of the pages in use, whatever the file still holds free."""
    connection = archive._connection
    pages_ = (
        connection.execute("PRAGMA page_count").fetchone()[0]
        - connection.execute("PRAGMA freelist_count").fetchone()[0]
    )
    return float(pages_ * connection.execute("PRAGMA page_size").fetchone()[0])


def row(arguments: argparse.Namespace) -> dict[str, Any]:
    bodies = pages(arguments.minutes, INTERVAL_S)
    with tempfile.TemporaryDirectory() as folder:
        cost = watching_s(bodies, Path(folder)) | {"fetch_s": fetch_s(bodies)}
        size = stored_bytes(pages(arguments.store_minutes, 1.0), Path(folder))
    engine_cores = (cost["fetch_s"] + cost["page_s"]) / INTERVAL_S + cost["look_s"] * cost["looks_per_min"] / 60
    month = size["full"] * WEEK_S + size["thinned"] * (MONTH_S - WEEK_S) / STEP_S
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {
        "commit": commit.stdout.strip(),
        "time": int(time.time()),
        "series": sum(not line.startswith(b"#") for line in bodies[-1].splitlines()),
        **{name: round(value, 6) for name, value in cost.items()},
        "cores_for_1000": round(engine_cores * ENGINES, 2),
        "engines_on_two_cores": int(CORES / engine_cores),
        "bytes_a_page_full": round(size["full"]),
        "bytes_a_page_thinned": round(size["thinned"]),
        "gb_30_days_at_1_s": round(month / 1e9, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--store-minutes", type=float, default=60.0)
    found = row(parser.parse_args())
    for name, value in found.items():
        print(f"{name:24} {value}")
    with (ROOT / "benchmarks/results/scale.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

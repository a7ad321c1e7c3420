"""A recording served as a live server and collected again is the same recording; and so is one that was killed."""

import asyncio
import gzip
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from servers import counter_page, http_server, pages
from whystall.errors import NotARecording, NotWritable, UsageError
from whystall.model.recording import SeriesTable
from whystall.sources.files.metrics import read_metrics
from whystall.sources.files.recording import read_recording
from whystall.sources.live.clock import CLOCK_HEADER
from whystall.sources.live.collector import CollectSpec, Progress, collect
from whystall.sources.live.recorder import Recorder
from whystall.sources.live.sink import Sink
from whystall.sources.replay import serve_replay


@pytest.fixture
def recording(data: Path) -> Path:
    return data / "recordings" / "seq_cap"


def assert_same(one: SeriesTable, other: SeriesTable) -> None:
    assert one.keys == other.keys
    np.testing.assert_array_equal(one.times, other.times)
    np.testing.assert_array_equal(one.values, other.values)
    assert one.types == other.types


@pytest.mark.parametrize("speed", [0, 40])
async def test_collecting_a_replay_gives_what_reading_the_folder_gives(recording: Path, speed: float) -> None:
    async with serve_replay(recording, speed=speed) as url:
        found = await collect(CollectSpec(url, seconds=3600))
    read = read_metrics(recording / "metrics.prom.gz").table
    if speed == 0:
        assert_same(found.metrics, read)
        assert found.metrics.failed == ()
    else:  # at 25 ms a page a busy machine may skip some, but must not shift any
        assert set(found.metrics.times) <= set(read.times)
        assert len(found.metrics.times) > len(read.times) / 2
    assert found.gpu is None
    assert found.host is None


async def test_a_recorded_folder_reads_back_and_replays_again(recording: Path, tmp_path: Path) -> None:
    async with serve_replay(recording, speed=0) as url:
        with Recorder(tmp_path / "again") as recorder:
            found = await collect(CollectSpec(url, seconds=3600), sink=recorder)
    assert_same(read_metrics(tmp_path / "again" / "metrics.prom.gz").table, found.metrics)
    for name in ("server_info.json", "version.json"):
        if (recording / name).exists():
            assert (tmp_path / "again" / name).read_bytes() == (recording / name).read_bytes()
    async with serve_replay(tmp_path / "again", speed=0) as url:
        again = await collect(CollectSpec(url, seconds=3600))
    assert_same(again.metrics, found.metrics)
    assert again.server_info == found.server_info
    assert again.version == found.version


async def test_the_pages_of_a_replay_are_verbatim_and_have_the_clock(recording: Path) -> None:
    packed = (recording / "metrics.prom.gz").read_bytes()
    first = gzip.decompress(packed).split(b"# scrape ")[1]
    time_line, _, page = first.partition(b"\n")
    async with serve_replay(recording) as url, aiohttp.ClientSession() as client:
        async with client.get(f"{url}/version") as answer:
            assert CLOCK_HEADER in answer.headers
        async with client.get(f"{url}/metrics") as answer:
            assert await answer.read() == page
            assert float(answer.headers[CLOCK_HEADER]) == float(time_line)
        async with client.get(f"{url}/health") as answer:
            assert answer.status == 200
        async with client.get(f"{url}/nothing") as answer:
            assert answer.status == 404


async def test_a_replay_ends_with_410_and_a_loop_does_not(recording: Path) -> None:
    count = len(read_metrics(recording / "metrics.prom.gz").table.times)
    for loop, after in ((False, 410), (True, 200)):
        async with serve_replay(recording, speed=0, loop=loop) as url, aiohttp.ClientSession() as client:
            clocks = []
            for _ in range(count):
                async with client.get(f"{url}/metrics") as answer:
                    assert answer.status == 200
                    clocks.append(float(answer.headers[CLOCK_HEADER]))
            async with client.get(f"{url}/metrics") as answer:
                assert answer.status == after
                clocks.append(float(answer.headers[CLOCK_HEADER]))
        assert clocks == sorted(clocks)


async def test_scrapes_that_failed_are_replayed_as_503(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r") as recorder:
        recorder.page(1000.0, counter_page(1).encode())
        recorder.failed(1001.0, "TimedOut")
        recorder.page(1002.0, counter_page(2).encode())
    async with serve_replay(tmp_path / "r", speed=0) as url:
        found = await collect(CollectSpec(url, seconds=100))
    assert list(found.metrics.times) == [1000.0, 1002.0]
    assert [failed.error for failed in found.metrics.failed] == ["Unavailable"]


async def test_the_log_of_a_replay_comes_as_it_came_from_the_server(recording: Path, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    async with serve_replay(recording, speed=0, log=log) as url:
        found = await collect(CollectSpec(url, seconds=3600, log=log))
    read = read_recording(recording)
    later = [at for at, line in enumerate(read.log) if line.t is not None and line.t > read.metrics.times[-1]]
    inside = read.log[: later[0] if later else None]
    assert len(inside) > 10
    assert [(line.t, line.text) for line in found.log if line.text] == [
        (line.t, line.text) for line in inside if line.text
    ]


async def test_only_recordings_are_replayed(tmp_path: Path) -> None:
    with pytest.raises(NotARecording):
        async with serve_replay(tmp_path):
            pass
    (tmp_path / "metrics.prom").write_text("x 1\n")  # a bare page has no time
    with pytest.raises(NotARecording):
        async with serve_replay(tmp_path):
            pass


async def test_a_port_that_is_taken(recording: Path) -> None:
    async with serve_replay(recording) as url:
        with pytest.raises(UsageError, match="cannot be served"):
            async with serve_replay(recording, port=int(url.rpartition(":")[2])):
                pass


async def test_a_stop_ends_a_collection_with_what_there_is() -> None:
    stop = asyncio.Event()
    seen: list[Progress] = []

    def progress(now: Progress) -> None:
        seen.append(now)
        if now.scrapes == 3:
            stop.set()

    async with http_server(pages(counter_page(1))) as url:
        found = await collect(CollectSpec(url, seconds=3600, interval_s=0.02), progress=progress, stop=stop)
    assert 3 <= len(found.metrics.times) < 60
    assert seen[0].of_seconds == 3600


async def test_a_full_disk_ends_a_collection_by_name() -> None:
    class Full(Sink):
        def page(self, t: float, body: bytes) -> None:
            raise NotWritable("the disk is full", "free some")

    async with http_server(pages(counter_page(1))) as url:
        with pytest.raises(NotWritable):
            await collect(CollectSpec(url, seconds=5), sink=Full())


async def test_the_log_is_read_from_its_start_and_as_it_grows(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"start-up line\n")
    kept = tmp_path / "r"

    def progress(now: Progress) -> None:
        if now.scrapes == 3:
            with log.open("ab") as file:
                file.write(b"later line \xff\n")

    async with http_server(pages(counter_page(1))) as url:
        with Recorder(kept) as recorder:
            await collect(CollectSpec(url, seconds=0.3, interval_s=0.05, log=log), sink=recorder, progress=progress)
    assert gzip.decompress((kept / "server.log.gz").read_bytes()) == b"start-up line\nlater line \xff\n"


def start_recording(url: str, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "whystall", "record", url, "-o", str(folder), "--for", "60s", "--interval", "50ms"]
    return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


async def grown(path: Path, to: int) -> None:
    until = time.monotonic() + 30
    while not path.exists() or path.stat().st_size < to:
        assert time.monotonic() < until, "the recording did not begin"
        await asyncio.sleep(0.05)


async def test_a_killed_recording_can_be_read(tmp_path: Path) -> None:
    served = [counter_page(n) for n in range(1, 5000)]
    async with http_server(pages(*served)) as url:
        recording = start_recording(url, tmp_path / "r")
        await grown(tmp_path / "r" / "metrics.prom.gz", 400)
        recording.kill()
        await asyncio.to_thread(recording.communicate)
    path = tmp_path / "r" / "metrics.prom.gz"
    text = zlib.decompressobj(31).decompress(path.read_bytes())
    found = read_metrics(path)
    # A busy machine lets slots pass: they are there as failed.
    assert len(found.table.times) + len(found.table.failed) == text.count(b"# scrape ")
    assert len(found.table.times) > 3
    assert list(found.table.values[0]) == [float(n) for n in range(1, len(found.table.times) + 1)]
    assert "truncated_gzip" in [warning.id for warning in found.warnings]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
async def test_a_recording_that_is_stopped_is_whole(tmp_path: Path, number: int, code: int) -> None:
    async with http_server(pages(counter_page(1))) as url:
        recording = start_recording(url, tmp_path / "r")
        await grown(tmp_path / "r" / "metrics.prom.gz", 400)
        recording.send_signal(number)
        out, err = await asyncio.to_thread(recording.communicate)
    assert recording.returncode == code, err
    assert b"scrapes" in out
    gzip.decompress((tmp_path / "r" / "metrics.prom.gz").read_bytes())  # raises where it is cut


async def test_a_recording_does_not_touch_a_folder_that_holds_something(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    async with http_server(pages(counter_page(1))) as url:
        recording = start_recording(url, tmp_path, "--for", "1s")
        _, err = await asyncio.to_thread(recording.communicate)
    assert recording.returncode == 2
    assert b"--force" in err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]

from pathlib import Path

import aiohttp
import pytest

from whystall.errors import InputError, UsageError
from whystall.sources.replay import Replay, serve_replay


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics.prom").write_text("# scrape 100\nx 1\n# scrape 101\nx 2\n")
    (tmp_path / "version.json").write_text('{"version":"0.26.0"}')
    (tmp_path / "health.jsonl").write_text('{"t": 100.5, "status": 503}\n{"t": 101, "status": 0}\n')
    return tmp_path


async def test_what_was_recorded_beside_the_pages(folder: Path) -> None:
    async with serve_replay(folder, speed=0) as url, aiohttp.ClientSession(url) as client:
        for path, status, body in (
            ("/version", 200, '{"version":"0.26.0"}'),
            ("/server_info", 404, ""),
            ("/v1/models", 404, ""),
            ("/health", 200, ""),  # none was recorded by then
            ("/metrics", 200, "x 1\n"),
            ("/metrics", 200, "x 2\n"),
            ("/health", 503, ""),  # nothing had answered then
            ("/metrics", 410, None),
        ):
            async with client.get(path) as answer:
                assert answer.status == status, path
                assert body in (None, "") or await answer.text() == body


def test_time_begins_with_the_first_scrape(folder: Path) -> None:
    replay = Replay(folder, speed=1000)
    assert replay.now() == 100
    assert not replay.finished()


@pytest.mark.parametrize("speed", [-1, 1e9, float("nan")])
def test_speeds_that_cannot_be(folder: Path, speed: float) -> None:
    with pytest.raises(UsageError):
        Replay(folder, speed=speed)


def test_a_health_file_that_is_none(folder: Path) -> None:
    (folder / "health.jsonl").write_text("alive\n")
    with pytest.raises(InputError):
        Replay(folder)

import asyncio
from pathlib import Path

import pytest

from whystall.cli import replay as module
from whystall.cli import run
from whystall.sources.live.collector import CollectSpec, collect
from whystall.sources.replay import Replay


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics.prom").write_text("".join(f"# scrape {100 + n}\nx {n}\n" for n in range(5)))
    return tmp_path


async def test_it_serves_until_the_last_page_has_had_its_time(folder: Path, free_port, monkeypatch, capsys) -> None:
    monkeypatch.setattr(module, "_AFTER_END_S", 0.2)
    monkeypatch.setattr(module, "_LOOK_S", 0.02)
    port = free_port()
    serving = asyncio.ensure_future(module._serve(Replay(folder, speed=20), port))
    await asyncio.sleep(0.1)
    found = await collect(CollectSpec(f":{port}", seconds=3))
    await asyncio.wait_for(serving, 20)
    assert set(found.metrics.times) <= {100.0 + n for n in range(5)}
    assert capsys.readouterr().out == f"http://127.0.0.1:{port}/metrics\n"


def test_what_cannot_be_replayed(tmp_path: Path, folder: Path, capsys) -> None:
    (tmp_path / "empty").mkdir()
    assert run(["replay", str(tmp_path / "empty")]) == 2
    assert run(["replay", str(tmp_path / "none")]) == 2
    assert run(["replay", str(folder), "--speed", "-1"]) == 2
    assert "Traceback" not in capsys.readouterr().err

"""``whystall demo`` from the command line to its page, and what it says when it is wrong."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from whystall.cli import demo, run
from whystall.model.recording import Recording


@pytest.fixture
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same demo in a quarter of its time."""
    monkeypatch.setattr(demo, "SPEED", 10.0)


@pytest.mark.usefixtures("faster")
def test_finds_what_it_planted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["demo", "-o", str(page)]) == 0
    out = capsys.readouterr().out
    assert "kv_capacity" in out
    last = out.strip().splitlines()[-1]
    found = re.search(r"found kv_capacity at ([\d.]+) s", last)
    assert found, last
    assert abs(float(found[1]) - demo.PLANTED_AT_S) <= 5
    assert str(page) in last
    diagnosis = embedded(page)
    assert diagnosis["causes"][0]["id"] == demo.PLANTED
    assert diagnosis["target"].startswith("http://127.0.0.1:")


def embedded(page: Path) -> dict:
    """The diagnosis that the page carries as data."""
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    decoded = [json.loads(block) for block in blocks]
    return next(block for block in decoded if isinstance(block, dict) and block.get("schema") == "whystall.diagnosis/1")


@pytest.mark.usefixtures("faster")
def test_speaks_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--lang", "zh", "-o", str(tmp_path / "page.html")]) == 0
    assert "找到了 kv_capacity" in capsys.readouterr().out


def test_says_so_where_it_did_not_find_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    from whystall.sources.files.recording import read_recording

    healthy = read_recording(data / "recordings" / "healthy")

    async def watch(lang: str) -> Recording:
        return msgspec.structs.replace(healthy)

    monkeypatch.setattr(demo, "_watch", watch)
    assert run(["demo", "-o", str(tmp_path / "page.html")]) == demo.NOT_FOUND
    assert "NOT found, the answer was healthy" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    assert run(["demo", "-o", str(tmp_path / "none" / "page.html")]) == 2

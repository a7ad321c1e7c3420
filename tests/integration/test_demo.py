"""``whystall demo`` from the command line to its page, and what it says when it is wrong."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from whystall.cli import demo, run
from whystall.cli.incident import EMULATED, RECORDED, Incident, phases
from whystall.model.recording import Recording


@pytest.fixture(autouse=True)
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same demos in less time."""
    monkeypatch.setattr(demo, "EMULATED", msgspec.structs.replace(EMULATED, speed=4.0))
    monkeypatch.setattr(demo, "RECORDED", msgspec.structs.replace(RECORDED, speed=10.0))


@pytest.mark.parametrize(("arguments", "incident"), [([], EMULATED), (["--recording"], RECORDED)])
def test_finds_what_it_planted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], incident: Incident
) -> None:
    page = tmp_path / "page.html"
    assert run(["demo", *arguments, "-o", str(page)]) == 0
    seen = capsys.readouterr()
    assert f"{incident.at_s:.0f} s" in seen.out.partition("BOTTLENECK")[0]
    last = seen.out.strip().splitlines()[-1]
    found = re.search(r"found kv_capacity at ([\d.]+) s", last)
    assert found, last
    assert abs(float(found[1]) - incident.at_s) <= 8
    assert str(page) in last
    assert "Traceback" not in seen.err
    diagnosis = embedded(page)
    assert diagnosis["causes"][0]["id"] == incident.cause
    assert diagnosis["target"].startswith("http://127.0.0.1:")


def embedded(page: Path) -> dict:
    """The diagnosis that the page carries as data."""
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    decoded = [json.loads(block) for block in blocks]
    return next(block for block in decoded if isinstance(block, dict) and block.get("schema") == "whystall.diagnosis/1")


def test_the_load_changes_in_length_only_and_lasts() -> None:
    before, after = phases(EMULATED)
    assert before.rate == after.rate
    assert before.mix[0].output == after.mix[0].output
    assert after.mix[0].prompt[0] > before.mix[0].prompt[1]
    assert before.seconds * EMULATED.speed == EMULATED.at_s
    assert (before.seconds + after.seconds) * EMULATED.speed > EMULATED.seconds
    assert EMULATED.seconds / EMULATED.speed < 60


def test_speaks_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--recording", "--lang", "zh", "-o", str(tmp_path / "page.html")]) == 0
    assert "找到了 kv_capacity" in capsys.readouterr().out


def test_says_so_where_it_did_not_find_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    from whystall.sources.files.recording import read_recording

    healthy = read_recording(data / "recordings" / "healthy")

    async def watch(_incident: Incident, _tell: Callable[[str], None], _show: object) -> Recording:
        return msgspec.structs.replace(healthy)

    monkeypatch.setattr(demo, "watch", watch)
    assert run(["demo", "-o", str(tmp_path / "page.html")]) == demo.NOT_FOUND
    assert "NOT found, the answer was healthy" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    assert run(["demo", "-o", str(tmp_path / "none" / "page.html")]) == 2

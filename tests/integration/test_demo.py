"""``whystall demo`` from the command line to its pages, and what it says when it is wrong."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from whystall.cli import demo, run
from whystall.cli.incident import RECORDED
from whystall.loop import demonstration
from whystall.loop.demonstration import AT_S, CAUSE, FLAG
from whystall.model.fix import Fix
from whystall.model.recording import Recording
from whystall.model.text import Text


@pytest.fixture(autouse=True)
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same replay in less time."""
    monkeypatch.setattr(demo, "RECORDED", msgspec.structs.replace(RECORDED, speed=10.0))


def test_finds_fixes_and_proves_what_it_planted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["demo", "-o", str(page)]) == 0
    seen = capsys.readouterr()
    assert f"at {AT_S:.0f} s" in seen.out.partition("BOTTLENECK")[0]
    assert "harms with" in seen.err  # the prediction, before the change
    assert "WIN: " in seen.err
    text = seen.out
    assert "FIXED: mean TTFT changed by" in text
    assert "WIN after" in text
    assert FLAG in text
    *_, before_last, last = text.strip().splitlines()
    found = re.search(r": KV cache too small\. Found at ([\d.]+) s", before_last)
    assert found, before_last
    assert abs(float(found[1]) - AT_S) <= 8
    assert last == f"Fixed and proven. The post-mortem: {tmp_path / 'page-postmortem.html'}"
    assert embedded(page)["causes"][0]["id"] == CAUSE
    told = (tmp_path / "page-postmortem.html").read_text()
    for part in ("KV cache too small", "WIN", FLAG):
        assert part in told
    assert_shown(text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page-postmortem.html", "page.html"]


NUMBER = re.compile(r"[\d.,]*\d")


def assert_shown(text: str) -> None:
    """README's transcript is what one sees: the same words, and figures that lie within a tenth (or 2) of those shown."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    transcript = readme[readme.index("FIXED:") :]
    lines = [line for line in transcript[: transcript.index("\nPlanted ")].splitlines() if line.strip()]
    seen = [line for line in text[text.index("FIXED:") :].splitlines() if line.strip()]
    for shown, line in zip(lines, seen, strict=False):
        assert NUMBER.sub("#", shown) == NUMBER.sub("#", line)
        for a, b in zip(NUMBER.findall(shown), NUMBER.findall(line), strict=True):
            assert float(b.replace(",", "")) == pytest.approx(float(a.replace(",", "")), rel=0.1, abs=2), (shown, line)


def test_finds_what_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(["demo", "--recording", "-o", str(page)]) == 0
    seen = capsys.readouterr()
    assert f"{RECORDED.at_s:.0f} s" in seen.out.partition("BOTTLENECK")[0]
    last = seen.out.strip().splitlines()[-1]
    found = re.search(r": KV cache too small\. Found at ([\d.]+) s", last)
    assert found, last
    assert abs(float(found[1]) - RECORDED.at_s) <= 8
    assert str(page) in last
    assert embedded(page)["target"].startswith("http://127.0.0.1:")


def embedded(page: Path) -> dict:
    """The diagnosis that the page carries as data."""
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(), re.DOTALL)
    decoded = [json.loads(block) for block in blocks]
    return next(block for block in decoded if isinstance(block, dict) and block.get("schema") == "whystall.diagnosis/1")


def test_speaks_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--recording", "--lang", "zh", "-o", str(tmp_path / "page.html")]) == 0
    assert "KV 缓存不足。已找到" in capsys.readouterr().out


def test_says_so_where_it_did_not_find_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    from whystall.sources.files.recording import read_recording

    healthy = read_recording(data / "recordings" / "healthy")

    async def watch(_incident: object, _tell: Callable[[str], None], _show: object) -> Recording:
        return msgspec.structs.replace(healthy)

    monkeypatch.setattr(demo, "watch", watch)
    assert run(["demo", "--recording", "-o", str(tmp_path / "page.html")]) == demo.NOT_FOUND
    assert "NOT found; the answer was: healthy" in capsys.readouterr().out


@pytest.mark.parametrize("state", ["rolled_back", "planned", "no_remedy", "healthy"])
def test_only_a_proven_fix_of_the_right_flag_counts(state: str) -> None:
    assert not demonstration.proven(Fix("x", state, Text("so")))  # type: ignore[arg-type]
    assert not demonstration.found(Fix("x", state, Text("so")))  # type: ignore[arg-type]


def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    assert run(["demo", "-o", str(tmp_path / "none" / "page.html")]) == 2

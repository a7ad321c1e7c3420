import gzip
from pathlib import Path

import pytest

from whystall.errors import NotARecording
from whystall.sources.playback import Playback


def recorded(folder: Path, text: str, name: str = "metrics.prom") -> Path:
    folder.mkdir()
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "# scrape 100\nx 1\n# scrape 101 failed TimedOut\n# scrape 102\nx 3\n# scrape 99\nx 4\n"
    return recorded(tmp_path / "r", text)


def test_pages_failures_and_no_step_back(folder: Path) -> None:
    playback = Playback(folder)
    seen = [(playback.t, playback.page.page, playback.page.error)]
    while playback.advance():
        seen.append((playback.t, playback.page.page, playback.page.error))
    assert seen == [(100.0, b"x 1\n", ""), (101.0, b"", "TimedOut"), (102.0, b"x 3\n", "")]
    assert playback.ended


def test_a_page_stands_until_the_next_and_the_last_for_an_interval(folder: Path) -> None:
    playback = Playback(folder)
    playback.advance_to(100.9)
    assert playback.t == 100
    playback.advance_to(102.0)
    assert playback.t == 102
    playback.advance_to(102.9)
    assert not playback.ended
    playback.advance_to(103.0)
    assert playback.ended


def test_round_and_round_time_goes_on(folder: Path) -> None:
    playback = Playback(folder, loop=True)
    times = [playback.t]
    for _ in range(7):
        assert playback.advance()
        times.append(playback.t)
    assert times == [100.0 + n for n in range(8)]


def test_a_cut_recording_loses_its_last_page(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "r", "# scrape 100\nx 1\n# scrape 101\nx 2\ny", "metrics.prom.gz")
    playback = Playback(folder)
    assert not playback.advance()


@pytest.mark.parametrize("text", ["", "x 1\n", "# scrape soon\nx 1\n"])
def test_what_is_no_recording(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotARecording):
        Playback(recorded(tmp_path / "r", text))
    with pytest.raises(NotARecording):
        Playback(tmp_path)

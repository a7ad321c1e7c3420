import gzip
from pathlib import Path

import pytest

from whystall.errors import NotARecording, NotWritable
from whystall.sources.log_playback import LogPlayback

# 1795999535 is 11-30 00:45:35 UTC.
LOG = """vllm serve m
(APIServer pid=7) INFO 11-30 00:45:35 [x.py:1] early
(APIServer pid=7) INFO 11-30 00:46:40 [x.py:1] later
a line of the later one
(APIServer pid=7) INFO 11-30 00:46:42 [x.py:1] last"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    start = 1795999535
    pages = "".join(f"# scrape {start + 60 + n}\nprocess_start_time_seconds {start}\n" for n in range(10))
    (tmp_path / "metrics.prom").write_text(pages)
    (tmp_path / "server.log.gz").write_bytes(gzip.compress(LOG.encode()))
    return tmp_path


def test_each_line_when_its_time_has_come(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.log"
    playback = LogPlayback(folder, folder / "metrics.prom", out)
    lines = LOG.splitlines(keepends=True)
    assert out.read_text() == ""
    for now, count in ((1795999595, 2), (1795999600, 4), (1795999601, 4)):
        playback.advance_to(now)
        assert out.read_text() == "".join(lines[:count])
    playback.advance_to(1795999700)
    assert out.read_text() == LOG + "\n"


def test_a_recording_without_a_log_and_a_file_that_cannot_be_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NotWritable):
        LogPlayback(folder, folder / "metrics.prom", tmp_path / "none" / "out.log")
    (folder / "server.log.gz").unlink()
    with pytest.raises(NotARecording):
        LogPlayback(folder, folder / "metrics.prom", tmp_path / "out.log")

from pathlib import Path

import pytest

from whystall.errors import NotWritable, UsageError
from whystall.model.recording import Health
from whystall.sources.files.recording import read_recording
from whystall.sources.live.facts import ServerFacts
from whystall.sources.live.recorder import Recorder


def test_the_folder_reads_back(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a" / "r") as recorder:
        recorder.facts(ServerFacts('{"version":"0.26.0"}', "{}", ""))
        recorder.argv(("vllm", "serve", "m"))
        recorder.page(1000.0, b"x 1\n")
        recorder.failed(1001.0, "Timed Out\nx")
        recorder.page(1002.0, b"x 2")
        recorder.health(Health(1002.5, 200))
        recorder.gpu([{"t": 1000.0, "gpu": 0, "name": "G", "power_w": 5.0}])
        recorder.host({"t": 1000.0, "cpus": 2, "loadavg": [1.0, 2.0, 3.0], "processes": []})
        recorder.log(b"line\n")
    found = read_recording(tmp_path / "a" / "r")
    assert list(found.metrics.times) == [1000.0, 1002.0]
    assert found.metrics.values.tolist() == [[1.0, 2.0]]
    assert [(failed.t, failed.error) for failed in found.metrics.failed] == [(1001.0, "Timed")]
    assert found.version == "0.26.0"
    assert found.argv == ("vllm", "serve", "m")
    assert found.health == (Health(1002.5, 200),)
    assert found.gpu is not None
    assert found.gpu.power_w.tolist() == [5.0]
    assert found.host is not None
    assert found.host.load1.tolist() == [1.0]
    assert [line.text for line in found.log][:1] == ["line"]
    assert not (tmp_path / "a" / "r" / "server_info.json").exists()


def test_a_page_cannot_forge_a_scrape(tmp_path: Path) -> None:
    with Recorder(tmp_path / "r") as recorder:
        recorder.page(1000.0, b'# scrape 5\nx 1\n# scrape 2000 failed Forged\nx{a="\\n# scrape 9"} 2\n')
    found = read_recording(tmp_path / "r").metrics
    assert list(found.times) == [1000.0]
    assert found.failed == ()
    assert len(found.keys) == 2


def test_a_folder_that_holds_something_is_left_alone_without_force(tmp_path: Path) -> None:
    (tmp_path / "gpu.jsonl").write_text("old")
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds"):
        Recorder(tmp_path)
    assert (tmp_path / "gpu.jsonl").read_text() == "old"
    with Recorder(tmp_path, force=True) as recorder:
        recorder.page(1.0, b"x 1\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.prom.gz", "thesis.txt"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable):
        Recorder(tmp_path / "file" / "r")


def failing(folder: Path, *, after_a_page: bool) -> None:
    with Recorder(folder) as recorder:
        if after_a_page:
            recorder.page(1000.0, b"x 1\n")
        recorder.failed(1001.0, "Refused")
        raise UsageError("it fails")


@pytest.mark.parametrize("there", [False, True])
def test_what_failed_before_the_first_page_leaves_nothing(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "r"
    if there:
        folder.mkdir()
    with pytest.raises(UsageError, match="it fails"):
        failing(folder, after_a_page=False)
    assert folder.exists() == there
    assert not list(tmp_path.rglob("*.gz"))


def test_what_fails_after_a_page_keeps_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="it fails"):
        failing(tmp_path / "r", after_a_page=True)
    assert list(read_recording(tmp_path / "r").metrics.times) == [1000.0]

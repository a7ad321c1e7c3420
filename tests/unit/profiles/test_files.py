import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from chrome_trace import document, kernel, render, write
from whystall.errors import NotATrace, UsageError
from whystall.profiles import files
from whystall.profiles.files import TraceOptions, read_file, read_timeline, report_of


def rank(folder: Path, number: int, start: float) -> Path:
    told = {"Collective name": "allreduce", "Process Group Name": "tp"}
    events = [kernel("nccl", 1000 * n + start, 100 - start, **told) for n in range(8)]
    header = {"distributedInfo": {"rank": number, "world_size": 2}, "baseTimeNanoseconds": 10**18}
    return write(folder, render(document([*events, kernel("nvjet", 5, 1)], **header)), f"rank{number}.json")


def test_ranks_are_read_in_processes_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_WORTH_A_PROCESS", 0)
    report = report_of([rank(tmp_path, 1, 80), rank(tmp_path, 0, 0)], TraceOptions())
    assert report.ranks is not None
    assert (report.ranks.straggler, report.ranks.matched) == (1, 8)
    assert "Rank 1 is the straggler" in report.headline.en
    assert [summary.rank for summary in report.timelines] == [1, 0]


def test_one_bad_file_does_not_lose_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("hello")
    report = report_of([rank(tmp_path, 0, 0), tmp_path / "bad"], TraceOptions())
    assert [failed.file for failed in report.failed] == ["bad"]
    assert len(report.files) == 1
    with pytest.raises(NotATrace):
        report_of([tmp_path / "bad"], TraceOptions())


def test_shapes_cost_a_second_pass_only_where_they_are(tmp_path: Path) -> None:
    args = {"External id": 7, "Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": args}
    events = [operator, kernel("sgemm", 1, 2, **{"External id": 7})]
    path = write(tmp_path, render(document(events, record_shapes=1)))
    with_shapes = read_file(path, TraceOptions()).report.timeline
    without = read_file(path, TraceOptions(roofline=False)).report.timeline
    assert with_shapes is not None
    assert without is not None
    assert (len(with_shapes.roofline), len(without.roofline)) == (1, 0)


def test_only_timelines_are_timelines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"ID","Kernel Name"\n')
    with pytest.raises(UsageError, match="no timeline"):
        read_timeline(tmp_path / "a.csv")


def test_ray_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match="needs Ray"):
        report_of([rank(tmp_path, 0, 0)], TraceOptions(), ray="auto")


@pytest.mark.ray
def test_ranks_by_ray_tasks(tmp_path: Path) -> None:
    paths = [rank(tmp_path, 1, 80), rank(tmp_path, 0, 0)]
    assert report_of(paths, TraceOptions(), ray="local") == report_of(paths, TraceOptions())


def test_no_cluster_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_port) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    with pytest.raises(UsageError, match="no Ray cluster at"):
        report_of([rank(tmp_path, 0, 0)], TraceOptions(), ray=f"127.0.0.1:{free_port()}")

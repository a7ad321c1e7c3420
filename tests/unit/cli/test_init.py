"""``whystall init`` writes, says what it wrote, and never over a file that differs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from whystall.cli import run


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}


def test_everything_is_written_and_the_second_time_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["init", str(tmp_path)]) == 0
    first = tree(tmp_path)
    assert {"whystall.toml", "compose.yaml", "systemd/whystall.service"} <= set(first)
    assert capsys.readouterr().out.count("wrote") == len(first)
    assert run(["init", str(tmp_path)]) == 0
    assert "wrote" not in capsys.readouterr().out
    assert tree(tmp_path) == first


def test_a_file_that_differs_is_kept_and_nothing_else_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "whystall.toml").write_text('lang = "zh"\n')
    assert run(["init", str(tmp_path)]) == 2
    assert tree(tmp_path) == {"whystall.toml": 'lang = "zh"\n'}
    assert "--force" in capsys.readouterr().err
    assert run(["init", str(tmp_path), "--force"]) == 0
    assert tree(tmp_path)["whystall.toml"] != 'lang = "zh"\n'


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "whystall.toml").write_text("")
    assert run(["init", str(tmp_path), "--dry-run"]) == 0
    assert tree(tmp_path) == {"whystall.toml": ""}
    assert "would write" in capsys.readouterr().out


def test_only_what_was_asked_for(tmp_path: Path):
    assert run(["init", str(tmp_path), "--only", "settings", "--only", "systemd"]) == 0
    assert set(tree(tmp_path)) == {"whystall.toml", "systemd/whystall.service"}


def test_a_target_that_is_no_address_is_refused(tmp_path: Path):
    assert run(["init", str(tmp_path), "--target", "ftp://x"]) == 2
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("target", ["http://a b:8000", "ftp://h", "http://h:99999"])
def test_a_target_that_is_no_address_is_not_written(target: str, tmp_path: Path) -> None:
    assert run(["init", str(tmp_path), "--target", target]) == 2
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("verb", [["init"], ["export", "grafana", "--directory"]])
def test_everything_is_written_though_nobody_reads_what_is_said(verb: list[str], tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)  # as `| head` leaves it
    argv = [sys.executable, "-m", "whystall", *verb, str(tmp_path / "unread")]
    subprocess.run(argv, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(write)
    assert run([*verb, str(tmp_path / "read")]) == 0
    assert tree(tmp_path / "unread") == tree(tmp_path / "read") != {}

"""The files of ``whystall export``."""

import json
from pathlib import Path

import pytest
import yaml

from whystall.cli import run
from whystall.cli.export import promql_duration


def test_alerts_go_to_a_file(tmp_path: Path):
    file = tmp_path / "rules.yml"
    assert run(["export", "alerts", "-o", str(file), "--slo", "itl_p95=50ms", "--window", "2m"]) == 0
    groups = yaml.safe_load(file.read_text("utf-8"))["groups"]
    assert [group["name"] for group in groups] == [
        "whystall-figures",
        "whystall-causes",
        "whystall-symptoms",
        "whystall-watch",
    ]


def test_boards_go_to_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["export", "grafana", "-d", str(tmp_path / "new")]) == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"whystall-fleet.json", "whystall-engine.json"}
    assert "whystall-fleet.json" in capsys.readouterr().out


def test_one_board_goes_to_the_output(capsys: pytest.CaptureFixture[str]):
    assert run(["export", "grafana", "--board", "engine"]) == 0
    assert json.loads(capsys.readouterr().out)["uid"] == "whystall-engine"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "file").write_text("")
    assert run(["export", "grafana", "-d", str(tmp_path / "file" / "below")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "written"), [("60s", "1m"), ("1h", "1h"), ("90s", "90s"), ("1500ms", "1500ms")])
def test_lengths_of_time_are_written_as_promql_has_them(text: str, written: str):
    assert promql_duration(text) == written

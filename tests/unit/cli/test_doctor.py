import json
from pathlib import Path

import jsonschema
import pytest

from whystall.cli import run
from whystall.reports.schema import schema


def test_without_a_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Installed" in out
    assert "Reachable" not in out


def test_nothing_there(capsys: pytest.CaptureFixture[str], free_port) -> None:
    assert run(["doctor", f"http://127.0.0.1:{free_port()}", "--json"]) == 3
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "whystall.doctor/1"
    assert [(check["id"], check["state"]) for check in answer["reachable"]] == [("/metrics", "failed")]
    assert answer["signals"] == []


def test_a_target_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str], free_port) -> None:
    config = tmp_path / "c.toml"
    config.write_text(f'[targets.prod]\nurl = "http://127.0.0.1:{free_port()}"')
    assert run(["doctor", "prod", "--config", str(config), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["target"].startswith("http://127.0.0.1:")


def test_a_folder_is_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", str(tmp_path)]) == 2
    assert "whystall diagnose" in capsys.readouterr().err


def test_the_answer_keeps_to_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    run(["doctor", "--json"])
    jsonschema.validate(json.loads(capsys.readouterr().out), schema("doctor"))

import json
from pathlib import Path

import jsonschema
import pytest

from whystall.cli import run
from whystall.reports.schema import schema


def test_without_a_target_commands_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", "--tool", "py-spy", "--lang", "en"]) == 0
    assert "py-spy record" in capsys.readouterr().out


def test_json_keeps_to_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", "--steps", "20", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    jsonschema.validate(body, schema("profile"), cls=jsonschema.Draft202012Validator)
    assert '{"max_iterations": 20}' in " ".join(body["commands"])


def test_a_protected_server_is_never_stalled(tmp_path: Path, capsys: pytest.CaptureFixture[str], free_port) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    config = tmp_path / "c.toml"
    config.write_text(f'protected = ["{url}"]')
    assert run(["profile", url, "--allow-stall", "--config", str(config)]) == 2
    assert "is protected" in capsys.readouterr().err


def test_clear_errors(capsys: pytest.CaptureFixture[str], free_port) -> None:
    assert run(["profile", "--allow-stall"]) == 2
    assert run(["profile", f"http://127.0.0.1:{free_port()}", "--allow-stall", "--tool", "nsys"]) == 2
    assert "torch only" in capsys.readouterr().err
    assert run(["profile", f"http://127.0.0.1:{free_port()}"]) == 3

"""``whystall fix`` on the command line: leave is asked for, and what contradicts itself is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whystall.cli import run
from whystall.cli.fix import EXIT_CODES

URL = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--clients", "8"], "--clients and --rate send load"),
        (["--resume", "--undo", "3"], "--resume and --undo are two things"),
        (["--resume"], "does not know how to change"),
        (["--undo", "3"], "does not know how to change"),
        (["--send-load", "--clients", "8", "--rate", "2"], "given twice"),
    ],
)
def test_refused(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run(["fix", URL, *options]) == 2
    assert says in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_protected_target_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "w.toml"
    config.write_text(f'[targets.prod]\nurl = "{URL}"\nprotected = true\n')
    for option in ("--apply", "--send-load"):
        assert run(["fix", "prod", option, "--config", str(config)]) == 2
        assert "protected" in capsys.readouterr().err


def test_an_actuator_s_key_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "w.toml"
    config.write_text(f'[targets.a]\nurl = "{URL}"\n[targets.a.actuator]\nkind = "compose"\nservce = "v"\n')
    assert run(["fix", "a", "--config", str(config)]) == 2
    assert "servce" in capsys.readouterr().err


def test_a_healthy_recording(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fix", str(data / "recordings" / "healthy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "healthy"


def test_every_state_has_an_exit_code() -> None:
    assert set(EXIT_CODES.values()) == {0, 1, 3}


def test_money_is_reckoned_where_a_price_is_given(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where, store = str(data / "recordings" / "seq_cap"), ["--store", str(tmp_path / "c.sqlite")]
    assert run(["fix", where, "--gpu-hour", "2.5", "--json", *store]) == 1
    cost = json.loads(capsys.readouterr().out)["cost"]
    assert cost["per_hour"] == 2.5
    assert cost["savings"][0]["saves_per_million_tokens"]["low"] > 0
    assert cost["gpus_at_slo"] is None
    assert run(["fix", where, "--gpu-hour", "cheap", *store]) == 2
    assert "takes a price" in capsys.readouterr().err


def test_where_nothing_was_kept_there_is_nothing_to_look_at_again(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "c.sqlite")]
    assert run(["fix", str(data / "recordings" / "seq_cap"), "--recheck", *store]) == 0
    assert "no change of it was kept" in capsys.readouterr().out

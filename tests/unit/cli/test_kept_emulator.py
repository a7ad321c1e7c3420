"""An emulator that is left running: it can be changed by fix, found again, and is refused where its port is taken."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from itertools import pairwise
from pathlib import Path

import pytest

from whystall.cli import run
from whystall.cli.emulate import emulate
from whystall.cli.kept_emulator import words_of
from whystall.trials.actuators.choose import kept_at


def words(arguments: list[str]) -> list[str]:
    with emulate.make_context("emulate", list(arguments)) as context:
        return list(words_of(context))


def test_the_command_line_is_written_again_without_the_keeper_s_own() -> None:
    asked = ["--keep", "--port", "8123", "--speed", "4", "--prompt", "200-400", "--no-enable-prefix-caching"]
    asked += ["--fault", "seat_cap@60", "--fault", "burst@90", "--max-num-seqs", "8"]
    again = words(asked)
    assert "--keep" not in again
    assert "--port" not in again
    assert words(again) == again
    pairs = dict(pairwise(again))
    assert (pairs["--speed"], pairs["--prompt"], pairs["--max-num-seqs"]) == ("4.0", "200-400", "8")
    assert [value for name, value in pairwise(again) if name == "--fault"] == [
        "seat_cap@60",
        "burst@90",
    ]
    assert "--no-enable-prefix-caching" in again


def test_it_goes_on_and_is_found_by_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run(["emulate", "--keep", "--clients", "2", "--max-num-seqs", "8"]) == 0
    url = re.match(r"(http://127\.0\.0\.1:(\d+))/metrics", capsys.readouterr().out)
    assert url is not None
    kept = kept_at(url[1], tmp_path / "whystall" / "servers")
    assert kept is not None
    try:
        assert asyncio.run(kept.snapshot()).arguments == ("--clients", "2", "--max-num-seqs", "8")
        port = ["--port", url[2]]
        assert run(["emulate", "--keep", *port, "--clients", "2", "--max-num-seqs", "8"]) == 0
        assert run(["emulate", "--keep", *port, "--clients", "3"]) == 2
        assert "with other arguments" in capsys.readouterr().err
        assert run(["diagnose", url[1], "--for", "2s", "--json"]) in (0, 1, 3)
        json.loads(capsys.readouterr().out)
    finally:
        asyncio.run(kept.stop())


def test_a_port_that_another_program_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert run(["emulate", "--keep", "--port", str(other.getsockname()[1])]) == 2
    assert "cannot be had" in capsys.readouterr().err
    assert run(["emulate", "--keep", "--host", "0.0.0.0"]) == 2

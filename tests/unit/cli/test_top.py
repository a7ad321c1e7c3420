"""``whystall top`` without a terminal, without textual, and with a wrong address."""

import sys

import pytest

from whystall.cli import run


def test_without_a_terminal_it_names_another_way(capsys: pytest.CaptureFixture[str]):
    assert run(["top", "http://127.0.0.1:1"]) == 2
    assert "whystall diagnose" in capsys.readouterr().err


def test_without_textual_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delitem(sys.modules, "whystall.service.screen", raising=False)
    monkeypatch.setitem(sys.modules, "textual", None)
    assert run(["top", "http://127.0.0.1:1"]) == 2
    assert "pip install 'whystall[tui]'" in capsys.readouterr().err


def test_a_window_of_few_scrapes_is_refused(capsys: pytest.CaptureFixture[str]):
    assert run(["top", "http://127.0.0.1:1", "--window", "3s"]) == 2
    assert "--window" in capsys.readouterr().err


def test_a_folder_is_no_server(capsys: pytest.CaptureFixture[str]):
    assert run(["top", "prometheus+http://127.0.0.1:9090"]) == 2
    assert capsys.readouterr().err

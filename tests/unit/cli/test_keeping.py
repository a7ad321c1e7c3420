from __future__ import annotations

from pathlib import Path

import pytest

from kept_cases import kv_diagnosis
from whystall.cases.book import Book
from whystall.cli.keeping import keep, past_cases, store_path
from whystall.cli.settings import Settings


@pytest.mark.parametrize(
    ("given", "configured", "path"),
    [
        (Path("a.sqlite"), "b.sqlite", Path("a.sqlite")),
        (None, "b.sqlite", Path("b.sqlite")),
        (None, "", Path("/state/whystall/cases.sqlite")),
    ],
)
def test_the_command_line_wins_over_the_file_and_that_over_the_default(given, configured, path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert store_path(given, Settings(store=configured)) == path


def test_what_is_kept_is_of_the_window_s_time_and_found_again(tmp_path, capsys):
    store = tmp_path / "cases.sqlite"
    first, again = (keep(kv_diagnosis(), store, "zh") for _ in range(2))
    assert first == again
    assert first.opened == kv_diagnosis().window.end
    assert "已是案例 1" in capsys.readouterr().err
    assert [one.id for one in past_cases(store, Settings(), "en").cases] == [1]


def test_without_a_store_there_is_no_past_and_none_is_made(tmp_path):
    store = tmp_path / "cases.sqlite"
    assert past_cases(store, Settings(), "en").cases == ()
    assert not store.exists()
    Book.open(store).close()

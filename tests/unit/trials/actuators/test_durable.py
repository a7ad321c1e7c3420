"""A file is replaced as a whole, and lines are appended as wholes."""

from __future__ import annotations

from pathlib import Path

import pytest

from whystall.errors import NotWritable
from whystall.trials.actuators.durable import append_line, write_whole


def test_replaces_and_appends(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b"
    write_whole(file, b"one")
    write_whole(file, b"two")
    assert (file.read_bytes(), [p.name for p in file.parent.iterdir()]) == (b"two", ["b"])
    append_line(file, b"three")
    append_line(file, b"four")
    assert file.read_bytes() == b"two\nthree\nfour\n"


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotWritable):
        write_whole(tmp_path / "file" / "below", b"")
    with pytest.raises(NotWritable):
        append_line(tmp_path / "file" / "below", b"")

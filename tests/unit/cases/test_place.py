from __future__ import annotations

from pathlib import Path

import pytest

from whystall.cases.place import default_store


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/a"}, "/state/whystall"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/state/whystall"),
        ({"HOME": "/home/a"}, "/home/a/.local/state/whystall"),
    ],
)
def test_the_state_folder(environ, folder):
    assert default_store(environ) == Path(folder) / "cases.sqlite"

"""The recordings, each read once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from whystall.model.recording import Recording
from whystall.sources.files.recording import read_recording


@pytest.fixture(scope="session")
def recording(shared: Path) -> Callable[[str], Recording]:
    @cache
    def read(name: str) -> Recording:
        return read_recording(shared / "recordings" / name)

    return read

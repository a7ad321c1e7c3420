"""Two loops never hold one target; a dead one holds nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from whystall.errors import Locked
from whystall.trials.lock import locked

HOLDS = """
import pathlib, sys
from whystall.trials.lock import locked
with locked(pathlib.Path(sys.argv[1]), "a"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_kept_out_until_it_dies(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == "held"
        with pytest.raises(Locked, match=str(other.pid)), locked(tmp_path, "a"):
            pass
        with locked(tmp_path, "b"):
            pass
    finally:
        other.kill()
        other.wait()
    with locked(tmp_path, "a"):
        pass

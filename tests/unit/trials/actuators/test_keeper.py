"""The keeper itself: one a folder, and nothing to keep is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from whystall.trials.actuators import keeper
from whystall.trials.actuators.actuator import Snapshot
from whystall.trials.actuators.kept import KeptFolder
from whystall.trials.actuators.managed import emulated_server


def test_a_folder_without_a_server_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert keeper.main(str(tmp_path)) == 2
    assert "keeps no server" in capsys.readouterr().err


async def test_a_second_keeper_leaves_at_once(tmp_path: Path) -> None:
    subject = emulated_server(tmp_path)
    assert (await subject.start(("--max-num-seqs", "8"))).ok
    try:
        before = KeptFolder(tmp_path).status()
        assert keeper.main(str(tmp_path)) == 0
        assert KeptFolder(tmp_path).status() == before
    finally:
        await subject.stop()


async def test_a_server_that_never_comes_up_is_given_up(tmp_path: Path) -> None:
    subject = emulated_server(tmp_path)
    try:
        state = await subject.start(("--max-num-seqs", "0"))
        assert not state.ok
        status = KeptFolder(tmp_path).status()
        assert status is not None
        assert status.state == "failed"
        await subject.roll_back(Snapshot(("--max-num-seqs", "8")))
        assert (await subject.healthy()).ok
    finally:
        await subject.stop()

"""A server of our own is changed and put back by its keeper, which outlives whoever asked."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from whystall.errors import Unavailable, UsageError
from whystall.trials.actuators.choose import kept_at
from whystall.trials.actuators.kept import KeptFolder, is_running
from whystall.trials.actuators.managed import emulated_server, vllm_server
from whystall.trials.actuators.process import KeptProcess

ARGUMENTS = ("--max-num-seqs", "8")
SEATS = {"--max-num-seqs": "64"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[KeptProcess]:
    subject = emulated_server(tmp_path / "kept")
    assert (await subject.start(ARGUMENTS)).ok
    yield subject
    await subject.stop()
    status = subject.folder.status()
    assert status is not None
    assert not is_running(status.pid, status.created)


def arguments_of(subject: KeptProcess) -> list[str]:
    """What the process itself was started with."""
    status = subject.folder.status()
    assert status is not None
    return psutil.Process(status.pid).cmdline()[-2:]


async def test_changes_and_goes_back(server: KeptProcess) -> None:
    before = await server.snapshot()
    plan = await server.plan(before, SEATS)
    assert plan.text.endswith("--max-num-seqs 64")
    assert plan.undo.endswith("--max-num-seqs 8")
    await server.apply(plan)
    assert (await server.healthy()).ok
    assert arguments_of(server) == ["--max-num-seqs", "64"]
    number = server.folder.wanted()
    await server.apply(plan)
    assert server.folder.wanted() == number  # it is so already
    await server.roll_back(before)
    assert (await server.healthy()).ok
    assert arguments_of(server) == list(ARGUMENTS)
    with pytest.raises(UsageError, match="already"):
        await server.plan(before, {"--max-num-seqs": "8"})


async def test_arguments_with_which_it_does_not_start_are_given_up(server: KeptProcess) -> None:
    before = await server.snapshot()
    await server.apply(await server.plan(before, {"--max-num-seqs": "0"}))
    state = await server.healthy()
    assert not state.ok
    assert "max_num_seqs must be at least 1" in state.reason
    assert arguments_of(server) == list(ARGUMENTS)
    await server.roll_back(before)
    assert (await server.healthy()).ok


async def test_a_killed_keeper_is_replaced_and_its_server_goes_on(server: KeptProcess) -> None:
    status = server.folder.status()
    assert status is not None
    os.kill(status.keeper, signal.SIGKILL)
    await gone(status.keeper, status.keeper_created)
    assert (await server.snapshot()).arguments == ARGUMENTS
    after = server.folder.status()
    assert after is not None
    assert (after.pid, after.keeper != status.keeper) == (status.pid, True)


async def test_a_killed_server_is_started_again(server: KeptProcess) -> None:
    status = server.folder.status()
    assert status is not None
    os.killpg(status.pid, signal.SIGKILL)
    while (after := server.folder.status()) is None or after.pid == status.pid or after.state != "up":
        await asyncio.sleep(0.05)
    assert arguments_of(server) == list(ARGUMENTS)


async def test_is_found_by_its_address(server: KeptProcess, tmp_path: Path) -> None:
    found = kept_at(server.server.url + "/", tmp_path)
    assert found is not None
    assert found.target == server.target
    assert kept_at("http://127.0.0.1:1", tmp_path) is None


async def gone(pid: int, created: float) -> None:
    while is_running(pid, created):
        await asyncio.sleep(0.02)


def test_half_a_file_is_never_seen(tmp_path: Path) -> None:
    folder = KeptFolder(tmp_path)
    assert (folder.server(), folder.wanted(), folder.status(), folder.last_words()) == (None, None, None, "")
    folder.want(ARGUMENTS)
    assert folder.want(("--x",)).number == 2
    assert [path.name for path in tmp_path.iterdir()] == ["wanted.json"]
    with pytest.raises(UsageError, match="keeps no server"):
        KeptProcess(tmp_path)


def test_without_vllm_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("WHYSTALL_VLLM", raising=False)
    with pytest.raises(Unavailable, match="vllm is not on the PATH"):
        vllm_server(tmp_path / "kept", "/models/m")
    monkeypatch.setenv("WHYSTALL_VLLM", "/opt/vllm")
    assert vllm_server(tmp_path / "kept", "/models/m").server.program[:3] == ("/opt/vllm", "serve", "/models/m")

"""``fix`` is killed with SIGKILL at every step: the server is up with a known configuration, and --resume says which."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import psutil
import pytest

from whystall.cases.book import Book
from whystall.cli import run
from whystall.trials.actuators.managed import emulated_server
from whystall.trials.actuators.process import KeptProcess
from whystall.trials.journal import Journal

OLD, NEW, BAD = (("--max-num-seqs", seats) for seats in ("8", "32", "2"))
OWN_LOAD = ("--clients", "24", "--prompt", "200-400", "--output", "80-160", "--speed", "40")
# A run that kills itself when it comes to a step, as a power cut would: no handler, no clean-up.
PROGRAM = """
import asyncio, os, signal, sys
from pathlib import Path
from whystall.cli.ending import ended_by_sigterm
from whystall.loop.diagnoser import AutoPerformanceDiagnoser
from whystall.loop.opening import LoopConfig
from whystall.model.diagnosis import Remedy
from whystall.model.prediction import BindsNext, Prediction, ProfileUsed
from whystall.model.text import Text

url, state, step, seats, sent, kind = sys.argv[1:]
said = Text("it was said so", "据称如此")
prediction = Prediction({}, (), 0.9, 0.0, "recommend", said, BindsNext("", said), ProfileUsed("p", "fitted", 0.03, said), 20)
canary = kind == "canary"
remedy = Remedy(
    "planted", Text("More seats", "更多席位"), {"--max-num-seqs": seats}, prediction=None if canary else prediction
)

def pause(at):
    if at == step:
        os.kill(os.getpid(), int(sent))

config = LoopConfig(
    seconds=40, apply=True, state=Path(state), block_s=30.0, canary=canary, recheck=kind == "recheck"
)
subject = AutoPerformanceDiagnoser(url, config, optimizer=lambda _r, _d: (remedy,), pause=pause)
with ended_by_sigterm():
    print(asyncio.run(subject.fix()).state)
"""
# Where it is killed, and what must then stand on the server, once its keeper has had its say.
STEPS = {
    "planned": OLD,
    "moving_after": OLD,
    "moved_after": NEW,
    "at_after": NEW,
    "moving_before": NEW,
    "moved_before": OLD,
    "at_before": OLD,
    "rolling_back": BAD,
    "rolled_back": OLD,
    "kept": NEW,
}


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "whystall"


@pytest.fixture
async def server(state: Path) -> AsyncIterator[KeptProcess]:
    subject = emulated_server(state / "servers" / "one")
    assert (await subject.start((*OLD, *OWN_LOAD))).ok
    yield subject
    await subject.stop()


async def fixed(
    server: KeptProcess, state: Path, step: str, sent: int = signal.SIGKILL, kind: str = "sure"
) -> tuple[int, str]:
    """The exit status of a run that is killed at ``step``, and what it said. ``kind``: what it tries, or only looks."""
    seats = BAD[1] if step in ("rolling_back", "rolled_back") else NEW[1]
    command = [sys.executable, "-c", PROGRAM, server.server.url, str(state), step, seats, str(int(sent)), kind]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    out, err = await process.communicate()
    return process.returncode or 0, (out + err).decode()


async def answers(server: KeptProcess) -> bool:
    async with aiohttp.ClientSession() as session, session.get(f"{server.server.url}/health") as answer:
        return answer.status == 200


@pytest.mark.parametrize(
    ("step", "kind"), [*((step, "sure") for step in STEPS), ("moved_after", "canary"), ("rolling_back", "canary")]
)
async def test_killed_at_a_step(
    server: KeptProcess, state: Path, step: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, said = await fixed(server, state, step, kind=kind)
    assert status == -signal.SIGKILL, said
    # The server is up by itself, with one of the two configurations: nobody has cleaned up yet.
    ready = await server.healthy()
    assert ready.ok, ready
    assert await answers(server)
    stands = (await server.snapshot()).arguments[:2]
    assert stands == STEPS[step]
    kept = server.folder.status()
    assert kept is not None
    assert stands[1] in psutil.Process(kept.pid).cmdline()
    # The book opens, and has the case up to the cut.
    with Book.open(state / "cases.sqlite") as book:
        (case,) = book.cases()
        assert case.outcome == "open"
    options = ["--store", str(state / "cases.sqlite"), "--json"]
    code, told = await resumed(server, capsys, options)
    if step == "planned":
        assert (code, told["because"]) == (0, "no change of it was cut off")
        return
    if step == "kept":
        assert (code, told["state"]) == (0, "kept")
        with Book.open(state / "cases.sqlite") as book:
            assert book.case(told["case"]).outcome == "kept"
        return
    side = "old" if stands == OLD else "new"
    assert f"the server has the {side} configuration" in told["because"]
    assert (await server.snapshot()).arguments[:2] == stands  # without --apply nothing was changed
    code, told = await resumed(server, capsys, [*options, "--apply"])
    assert (code, told["state"]) == (0, "rolled_back")
    assert (await server.snapshot()).arguments[:2] == OLD
    assert await answers(server)
    assert Journal(state, server.target).open() is None
    with Book.open(state / "cases.sqlite") as book:
        assert book.case(told["case"]).outcome == "rolled_back"


@pytest.mark.parametrize("step", ["moved_after", "at_after", "at_before"])
async def test_told_to_end_it_takes_the_change_back_itself(server: KeptProcess, state: Path, step: str) -> None:
    """SIGTERM, as systemd and a cancelled CI job send it: nobody has to come back and resume."""
    _, said = await fixed(server, state, step, signal.SIGTERM)
    assert (await server.healthy()).ok, said
    assert (await server.snapshot()).arguments[:2] == OLD
    assert Journal(state, server.target).open() is None
    with Book.open(state / "cases.sqlite") as book:
        (case,) = book.cases()
    assert case.outcome == "rolled_back"


async def resumed(server: KeptProcess, capsys: pytest.CaptureFixture[str], options: list[str]) -> tuple[int, dict]:
    """``whystall fix URL --resume``."""
    capsys.readouterr()
    code = await asyncio.to_thread(run, ["fix", server.server.url, "--resume", *options])
    return code, json.loads(capsys.readouterr().out)


async def test_it_ends_well_where_nobody_kills_it(server: KeptProcess, state: Path) -> None:
    status, said = await fixed(server, state, "never")
    assert (status, said.strip().splitlines()[-1]) == (0, "kept")
    assert (await server.snapshot()).arguments[:2] == NEW


@pytest.mark.parametrize("step", ["rechecking", "rechecked"])
async def test_killed_while_it_looks_again_at_what_was_kept(
    server: KeptProcess, state: Path, step: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The look of the day after changes no server; its case is as it was before, or as it was found, and nothing else."""
    assert (await fixed(server, state, "never"))[0] == 0
    status, said = await fixed(server, state, step, kind="recheck")
    assert status == -signal.SIGKILL, said
    assert await answers(server)
    assert (await server.snapshot()).arguments[:2] == NEW
    with Book.open(state / "cases.sqlite") as book:
        (case,) = book.cases()
    assert case.outcome == "kept"
    assert ("checked" in [one.id for one in case.steps]) == (step == "rechecked")
    code, told = await resumed(server, capsys, ["--store", str(state / "cases.sqlite"), "--json"])
    assert (code, told["because"]) == (0, "no change of it was cut off")
    assert (await server.snapshot()).arguments[:2] == NEW

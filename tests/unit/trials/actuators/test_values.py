"""The patch for a repository: a file that holds all arguments, is never pushed and never taken from somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from whystall.errors import Refused, UsageError
from whystall.trials.actuators.spec import ValuesSpec
from whystall.trials.actuators.values import Values

ARGUMENTS = ("--model", "m", "--max-num-seqs", "8")
WORDS = ["--model", "m", "--max-num-seqs", "64"]


def place(form: str, document: dict) -> list[str]:
    if form == "kserve":
        assert (document["kind"], document["metadata"]["name"]) == ("InferenceService", "chat")
        return document["spec"]["predictor"]["model"]["args"]
    if form == "production_stack":
        (model,) = document["servingEngineSpec"]["modelSpec"]
        assert model["name"] == "chat"
        return model["vllmConfig"]["extraArgs"]
    (container,) = document["spec"]["template"]["spec"]["containers"]
    assert (document["kind"], container["name"]) == ("Deployment", "vllm")
    return container["args"]


@pytest.mark.parametrize("form", ["argocd", "kserve", "production_stack"])
async def test_writes_the_whole_list_and_takes_it_away(tmp_path: Path, form: str) -> None:
    file = tmp_path / "patch.yaml"
    subject = Values(ValuesSpec(form, str(file), "chat"), ARGUMENTS)
    before = await subject.snapshot()
    plan = await subject.plan(before, {"--max-num-seqs": "64"})
    assert not file.exists()
    await subject.apply(plan)
    assert place(form, yaml.safe_load(file.read_text())) == WORDS
    assert file.read_text() in plan.text
    assert "# whystall fix: + --max-num-seqs 64" in plan.text
    assert not (await subject.healthy()).ok
    await subject.roll_back(before)
    assert not file.exists()


async def test_somebody_else_s_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "patch.yaml"
    file.write_text("mine: true\n")
    subject = Values(ValuesSpec("kserve", str(file), "chat"), ARGUMENTS)
    before = await subject.snapshot()
    with pytest.raises(Refused):
        await subject.apply(await subject.plan(before, {"--max-num-seqs": "64"}))
    await subject.roll_back(before)
    assert file.read_text() == "mine: true\n"


async def test_without_the_present_arguments_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="present arguments"):
        await Values(ValuesSpec("kserve", str(tmp_path / "p"), "chat"), ()).snapshot()
    with pytest.raises(UsageError, match="no form"):
        Values(ValuesSpec("helm", str(tmp_path / "p"), "chat"), ARGUMENTS)

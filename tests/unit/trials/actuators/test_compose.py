"""A Compose service is changed by an override file and a fake docker that merges files as Compose does."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from whystall.errors import ChangeFailed, UsageError
from whystall.trials.actuators.compose import Compose
from whystall.trials.actuators.spec import ComposeSpec

PROJECT = """
services:
  vllm:
    image: vllm/vllm-openai
    command: ["--model", "m", "--max-num-seqs", "8", "--served-model-name", "cost$$1"]
  web:
    image: web
"""
DOCKER = """#!{python}
import json, sys
import yaml
words = sys.argv[1:]
assert words.pop(0) == "compose", words
files = []
while words[:1] == ["-f"]:
    files.append(words[1])
    words = words[2:]
merged = {{"services": {{}}}}
for file in files:
    for name, service in yaml.safe_load(open(file))["services"].items():
        assert set(service) <= {{"image", "command", "entrypoint"}}, service
        merged["services"].setdefault(name, {{}}).update(service)
if words == ["config", "--format", "json"]:
    print(json.dumps(merged))
elif words[:3] == ["up", "-d", "--no-deps"]:
    command = [word.replace("$$", "$") for word in merged["services"][words[3]]["command"]]
    if "9999" in command:
        sys.exit("Error response from daemon: no such option")
    open("{state}", "a").write(json.dumps(command) + "\\n")
else:
    sys.exit(f"unknown command {{words}}")
"""


@pytest.fixture
def subject(tmp_path: Path) -> Compose:
    docker = tmp_path / "docker"
    docker.write_text(DOCKER.format(python=sys.executable, state=tmp_path / "up.jsonl"))
    docker.chmod(0o755)
    (tmp_path / "compose.yaml").write_text(PROJECT)
    spec = ComposeSpec("vllm", files=(str(tmp_path / "compose.yaml"),), docker=str(docker))
    return Compose(spec, "http://127.0.0.1:1", 1.0)


def ups(tmp_path: Path) -> list[list[str]]:
    file = tmp_path / "up.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


async def test_writes_the_override_and_takes_it_away(subject: Compose, tmp_path: Path) -> None:
    before = await subject.snapshot()
    assert before.arguments[-1] == "cost$1"
    plan = await subject.plan(before, {"--max-num-seqs": "64"})
    assert not subject.override.exists()
    assert "up -d --no-deps vllm" in plan.text
    assert f"rm {subject.override}" in plan.undo
    await subject.apply(plan)
    service = yaml.safe_load(subject.override.read_text())["services"]
    assert list(service) == ["vllm"]
    assert subject.override.read_text() in plan.text
    assert ups(tmp_path)[-1][2:4] == ["--max-num-seqs", "64"]
    assert ups(tmp_path)[-1][-1] == "cost$1"
    await subject.roll_back(before)
    assert not subject.override.exists()
    assert ups(tmp_path)[-1] == list(before.arguments)
    assert (await subject.snapshot()).digest == before.digest


async def test_an_override_of_an_earlier_fix_is_put_back(subject: Compose, tmp_path: Path) -> None:
    await subject.apply(await subject.plan(await subject.snapshot(), {"--max-num-seqs": "64"}))
    middle = await subject.snapshot()
    text = subject.override.read_text()
    await subject.apply(await subject.plan(middle, {"--max-num-seqs": "128"}))
    await subject.roll_back(middle)
    assert subject.override.read_text() == text
    assert ups(tmp_path)[-1][3] == "64"


async def test_docker_s_refusal_is_told(subject: Compose) -> None:
    plan = await subject.plan(await subject.snapshot(), {"--max-num-seqs": "9999"})
    with pytest.raises(ChangeFailed, match="no such option"):
        await subject.apply(plan)


async def test_no_docker_and_no_service_are_told(tmp_path: Path, subject: Compose) -> None:
    files = subject.spec.files
    with pytest.raises(ChangeFailed, match="cannot be run"):
        await Compose(ComposeSpec("vllm", files, docker=str(tmp_path / "none")), "http://x", 1.0).snapshot()
    with pytest.raises(UsageError, match="no service 'other'"):
        await Compose(ComposeSpec("other", files, docker=subject.spec.docker), "http://x", 1.0).snapshot()

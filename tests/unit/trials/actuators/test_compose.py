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
elif words[0] == "ps":
    assert words == ["ps", "--all", "--format", "json", "vllm"], words
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


SCALED = """#!{python}
import hashlib, json, sys
from pathlib import Path
import yaml
state = Path("{state}")
boxes = json.loads(state.read_text())
log = open("{log}", "a")
def keep(): state.write_text(json.dumps(boxes))
words = sys.argv[1:]
log.write(json.dumps(words) + "\\n")
if words[0] == "stop":
    boxes[words[1]]["State"] = "exited"; keep(); sys.exit()
if words[0] == "rm":
    assert boxes[words[1]]["State"] == "exited", "You cannot remove a running container"
    del boxes[words[1]]; keep(); sys.exit()
assert words.pop(0) == "compose", words
merged = {{}}
while words[:1] == ["-f"]:
    merged.update(yaml.safe_load(open(words[1]))["services"]["vllm"])
    words = words[2:]
command = [word.replace("$$", "$") for word in merged["command"]]
digest = hashlib.sha256(json.dumps(command).encode()).hexdigest()
if words == ["config", "--format", "json"]:
    print(json.dumps({{"services": {{"vllm": {{"command": merged["command"]}}}}}}))
elif words == ["config", "--hash", "vllm"]:
    print("vllm", digest)
elif words == ["ps", "--all", "--format", "json", "vllm"]:
    for name, box in boxes.items():
        print(json.dumps({{"Name": name, "Labels": "a=b,com.docker.compose.config-hash=" + box["hash"],
                          "State": box["State"], "Health": box["Health"], "ExitCode": box.get("ExitCode", 0)}}))
elif words[:3] == ["up", "-d", "--no-deps"] and words[-1] == "vllm":
    assert words[-3:-1] == ["--scale", "vllm=3"], words
    if "--no-recreate" not in words:
        boxes = {{name: box for name, box in boxes.items() if box["hash"] == digest}}
    new = 0
    while len(boxes) < 3:
        new += 1
        name = "new-%d-%s" % (new, digest[:6])
        if name not in boxes:
            bad = "9999" in command
            boxes[name] = {{"hash": digest, "State": "exited" if bad else "running", "ExitCode": 137 * bad,
                            "Health": "{health}" and ("" if bad else "{health}")}}
    keep()
else:
    sys.exit(f"unknown command {{words}}")
"""


def scaled(tmp_path: Path, health: str) -> Compose:
    (tmp_path / "compose.yaml").write_text(PROJECT)
    boxes = {f"p-vllm-{n}": {"hash": "of before", "State": "running", "Health": health} for n in (1, 2, 3)}
    state, log = tmp_path / "boxes.json", tmp_path / "log.jsonl"
    state.write_text(json.dumps(boxes))
    docker = tmp_path / "docker"
    docker.write_text(SCALED.format(python=sys.executable, state=state, log=log, health=health))
    docker.chmod(0o755)
    return Compose(
        ComposeSpec("vllm", (str(tmp_path / "compose.yaml"),), docker=str(docker)), "http://127.0.0.1:1", 5.0, 0.0
    )


def done(tmp_path: Path) -> list[list[str]]:
    """What changed something: containers stopped, removed, and brought up."""
    every = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    return [words for words in every if words[0] in ("stop", "rm") or "up" in words]


async def test_of_a_scaled_service_one_container_goes_first(tmp_path: Path) -> None:
    subject = scaled(tmp_path, "healthy")
    before = await subject.snapshot()
    plan = await subject.plan(before, {"--max-num-seqs": "64"})
    assert "each of the 3 containers in turn" in plan.text
    assert "--no-recreate --scale vllm=3 vllm" in plan.text
    assert done(tmp_path) == []
    await subject.apply(plan)
    kinds = [words[0] for words in done(tmp_path)]
    assert kinds == ["stop", "rm", "compose"] * 3 + ["compose"]
    assert [words[1] for words in done(tmp_path) if words[0] == "stop"] == ["p-vllm-1", "p-vllm-2", "p-vllm-3"]
    count = len(done(tmp_path))
    await subject.apply(plan)
    assert [words[0] for words in done(tmp_path)[count:]] == ["compose"], "what is so already is not stopped again"


async def test_the_others_go_on_where_the_first_does_not_come_up(tmp_path: Path) -> None:
    subject = scaled(tmp_path, "healthy")
    before = await subject.snapshot()
    plan = await subject.plan(before, {"--max-num-seqs": "9999"})
    with pytest.raises(ChangeFailed, match=r"ran out of memory: .*exit code 137"):
        await subject.apply(plan)
    boxes = json.loads((tmp_path / "boxes.json").read_text())
    assert {"p-vllm-2", "p-vllm-3"} <= set(boxes)
    await subject.roll_back(before)
    boxes = json.loads((tmp_path / "boxes.json").read_text())
    assert {box["State"] for box in boxes.values()} == {"running"}
    assert len(boxes) == 3


async def test_where_nothing_tells_that_the_first_serves_the_dry_run_says_so(tmp_path: Path) -> None:
    subject = scaled(tmp_path, "")
    plan = await subject.plan(await subject.snapshot(), {"--max-num-seqs": "64"})
    assert "all 3 containers at once: no healthcheck and no port of its own" in plan.text
    await subject.apply(plan)
    assert [words[0] for words in done(tmp_path)] == ["compose"]

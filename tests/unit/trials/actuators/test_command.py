"""The hook is run as it is written, without a shell; what it needs stands in its environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from servers import http_server, pages
from whystall.errors import ChangeFailed, UsageError
from whystall.trials.actuators.command import Command
from whystall.trials.actuators.spec import CommandSpec

WRITES = (
    "import json,os,sys; json.dump({k: v for k, v in os.environ.items() if 'WHYSTALL' in k}, open(sys.argv[1], 'w'))"
)
ARGUMENTS = ("m", "--max-num-seqs", "8", "--api-key", "swordfish")


def hook(*words: str, url: str = "http://127.0.0.1:1") -> Command:
    return Command(CommandSpec((sys.executable, "-c", *words)), url, 0.2, ARGUMENTS)


async def test_applies_and_rolls_back(tmp_path: Path) -> None:
    out = tmp_path / "$(touch never); out"
    subject = hook(WRITES, str(out))
    before = await subject.snapshot()
    plan = await subject.plan(before, {"--max-num-seqs": "64"})
    assert not out.exists()
    await subject.apply(plan)
    seen = json.loads(out.read_text())
    assert seen["WHYSTALL_ACTION"] == "apply"
    assert json.loads(seen["WHYSTALL_FLAGS"]) == {"--max-num-seqs": "64"}
    assert json.loads(seen["WHYSTALL_ARGUMENTS"]) == ["m", "--max-num-seqs", "64", "--api-key", "swordfish"]
    await subject.roll_back(before)
    seen = json.loads(out.read_text())
    assert seen["WHYSTALL_ACTION"] == "roll_back"
    assert json.loads(seen["WHYSTALL_ARGUMENTS"]) == list(ARGUMENTS)
    assert not (tmp_path / "never").exists()
    assert "swordfish" not in plan.text + plan.undo


async def test_a_hook_that_fails_is_told() -> None:
    subject = hook("import sys; sys.exit('no such pool')")
    with pytest.raises(ChangeFailed, match="no such pool"):
        await subject.apply(await subject.plan(await subject.snapshot(), {"--max-num-seqs": "64"}))
    with pytest.raises(UsageError):
        Command(CommandSpec(()), "http://x", 1.0, ())
    missing = Command(CommandSpec(("/none/such",)), "http://x", 1.0, ARGUMENTS)
    before = await missing.snapshot()
    with pytest.raises(ChangeFailed, match="cannot be run"):
        await missing.roll_back(before)


async def test_health_is_the_server_s_own() -> None:
    assert not (await hook("", url="http://127.0.0.1:9").healthy()).ok
    async with http_server(pages("x")) as url:  # it has no /health
        assert "404" in (await hook("", url=url).healthy()).reason

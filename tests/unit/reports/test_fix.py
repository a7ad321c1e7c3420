"""What the loop did, as text and as JSON: the outcome first, the change to be copied, never a secret."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from loop_scenes import SEATS, few_seats, planted, prediction, remedy, run_loop
from whystall.model.fix import Fix
from whystall.reports.fix import render_fix
from whystall.reports.json import to_json
from whystall.reports.schema import schema

GOOD = prediction(ttft_mean=(-0.999, -0.3))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Fix:
    import asyncio

    state = tmp_path_factory.mktemp("state")
    return asyncio.run(run_loop(few_seats(), state, planted(remedy(SEATS, GOOD))))


def test_the_outcome_is_in_the_first_lines(kept: Fix) -> None:
    lines = render_fix(kept, "en", 100).splitlines()
    assert lines[0].startswith("FIXED: mean TTFT changed by")
    assert lines[1].startswith("a whole request's time -")
    assert lines[2].startswith("tokens a second +")


def test_the_proof_and_the_way_back_are_shown(kept: Fix) -> None:
    text = render_fix(kept, "en", 100)
    for part in (
        "WIN after",
        "the users' own load",
        "--max-num-seqs 32",
        "Undone by",
        "case 1",
        "gone: All seats taken",
    ):
        assert part in text


def test_chinese(kept: Fix) -> None:
    text = render_fix(kept, "zh", 100)
    assert text.startswith("已修复: 平均 TTFT")
    assert "验证" in text


@pytest.mark.parametrize("state", ["healthy", "kept"])
def test_the_json_has_its_schema(kept: Fix, state: str, tmp_path: Path) -> None:
    from whystall.model.text import Text

    fix = kept if state == "kept" else Fix("x", "healthy", Text("healthy"))
    body = json.loads(to_json(fix, "en"))
    jsonschema.validate(body, schema("fix"))
    assert body["schema"] == "whystall.fix/1"
    if state == "kept":
        assert body["change"]["saved"] == ""


async def test_a_dry_run_shows_the_exact_change(tmp_path: Path) -> None:
    fix = await run_loop(few_seats(), tmp_path, planted(remedy(SEATS, GOOD)), apply=False)
    text = render_fix(fix, "en", 80)
    assert text.startswith("PLANNED, NOTHING CHANGED")
    assert "  emulate --max-num-seqs 32\n" in text
    assert "The proof" not in text

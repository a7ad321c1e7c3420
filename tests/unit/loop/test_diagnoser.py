"""The loop in Python: None when healthy, the parts replaceable, a recording never changed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import whystall
from loop_scenes import SEATS, planted, prediction, remedy
from whystall import AutoPerformanceDiagnoser, Diagnoser, LoopConfig, diagnose
from whystall.cases.book import Book
from whystall.cases.opening import case_of
from whystall.errors import NotARecording, Refused, UsageError
from whystall.loop.opening import opened
from whystall.model.diagnosis import Tried, Window
from whystall.model.recording import Recording
from whystall.model.text import Text
from whystall.reports.fix import render_fix
from whystall.sources.files.recording import read_recording


@pytest.fixture
def config(tmp_path: Path) -> LoopConfig:
    return LoopConfig(state=tmp_path)


async def test_none_when_healthy(data: Path, config: LoopConfig) -> None:
    assert await AutoPerformanceDiagnoser(str(data / "recordings" / "healthy"), config).run() is None


async def test_what_is_found_and_suggested(data: Path, config: LoopConfig) -> None:
    found = await AutoPerformanceDiagnoser(str(data / "recordings" / "seq_cap"), config).run()
    assert found is not None
    assert found.state in ("planned", "no_remedy")
    assert found.root_causes[0].id == "seat_cap"
    assert found.suggestions
    assert (found.trial, found.improvement, found.case) == (None, None, 0)


async def test_what_helped_in_kept_cases_is_told_and_comes_first(data: Path, config: LoopConfig) -> None:
    where = str(data / "recordings" / "seq_cap")
    first = await AutoPerformanceDiagnoser(where, config).run()
    assert first is not None
    assert first.diagnosis is not None
    assert all(one.tried is None for one in first.suggestions)
    other = msgspec.structs.replace(first.diagnosis, window=Window(0.0, 30.0, 30.0))
    assert config.book is not None
    with Book.open(config.book) as book:
        for _ in range(2):
            book.add(msgspec.structs.replace(case_of(other, 1.0, "fix"), remedy=first.suggestions[0], outcome="kept"))
    again = await AutoPerformanceDiagnoser(where, config).run()
    assert again is not None
    assert again.suggestions[0].tried == Tried(2, 2, (2, 1))
    assert again.diagnosis is not None
    assert [one.id for one in again.diagnosis.similar] == [2, 1]
    shown = render_fix(again, "en", 100)
    assert "(helped 2 of 2" in shown
    assert "As case 2, 1;" in shown


async def test_kept_cases_that_cannot_be_read_are_told_and_change_nothing(data: Path, config: LoopConfig) -> None:
    assert config.book is not None
    config.book.write_text("no database")
    said: list[Text] = []
    found = await AutoPerformanceDiagnoser(str(data / "recordings" / "seq_cap"), config, say=said.append).run()
    assert found is not None
    assert any("kept cases were left out" in text.en for text in said)


async def test_every_part_may_be_replaced(data: Path, config: LoopConfig) -> None:
    asked: list[str] = []

    async def collector() -> Recording:
        asked.append("collector")
        return read_recording(data / "recordings" / "seq_cap")

    subject = AutoPerformanceDiagnoser(
        str(data / "recordings" / "healthy"),
        config,
        metrics_collector=collector,
        optimizer=planted(remedy(SEATS, prediction(ttft_mean=(-0.9, -0.5)))),
    )
    found = await subject.run()
    assert asked == ["collector"]
    assert found is not None
    assert found.state == "planned"
    assert found.remedy is not None
    assert found.remedy.change == SEATS


async def test_a_recording_is_never_changed(data: Path, config: LoopConfig) -> None:
    apply = LoopConfig(apply=True, state=config.state)
    with pytest.raises(UsageError, match="is a recording"):
        await AutoPerformanceDiagnoser(str(data / "recordings" / "seq_cap"), apply).run()


@pytest.mark.parametrize("asked", [{"apply": True}, {"send_load": True}])
async def test_a_protected_target_is_refused(asked: dict, config: LoopConfig) -> None:
    protected = LoopConfig(protected=True, state=config.state, **asked)
    with pytest.raises(Refused, match="protected"):
        await opened("http://127.0.0.1:9", protected)


def test_the_diagnosis_alone(data: Path) -> None:
    assert diagnose(str(data / "recordings" / "healthy")).verdict == "healthy"
    found = asyncio.run(Diagnoser(str(data / "recordings" / "seq_cap")).run())
    assert found.causes[0].id == "seat_cap"


def test_the_public_names_load_when_they_are_asked_for() -> None:
    for name in whystall.__all__:
        assert getattr(whystall, name) is not None
    with pytest.raises(AttributeError):
        whystall.nothing  # noqa: B018
    code = "import sys, whystall; sys.exit(any(m in sys.modules for m in ('numpy', 'aiohttp', 'msgspec')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_change_in_words() -> None:
    from whystall.model.change import Change

    change = Change("i", "t", "process", {"--a": "1", "--b": ""}, (), (), "", "", "")
    assert change.in_words == "--a 1, without --b"


@pytest.mark.parametrize("target", ["./nowhere", "/nowhere/at/all", "recordings/nowhere", "nowhere/"])
async def test_a_folder_that_is_not_there_is_no_server(target: str) -> None:
    with pytest.raises(NotARecording, match="there is no"):
        await Diagnoser(target).run()

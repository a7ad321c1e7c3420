"""How all that is watched did over a day, and when that is told."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate
from msgspec.structs import replace

from kept_incidents import INCIDENT
from whystall.cli.settings import load_settings
from whystall.errors import UsageError
from whystall.model.health import HealthReport
from whystall.model.incident import IncidentStep
from whystall.model.text import Text
from whystall.reports.schema import schema
from whystall.service.health import health
from whystall.service.health_reports import HealthReports, next_due
from whystall.service.ledger import Ledger
from whystall.service.log import Log
from whystall.service.server import Watching
from whystall.service.settings import ReportSettings
from whystall.service.target import WatchTarget
from whystall.service.watcher import Watcher
from whystall.service.workers import Workers

DAY = 86_400.0
NOW = 1_800_000_000.0


def watcher(*names: str) -> Watcher:
    found = Watcher(Watching(), Ledger(), Workers(0), Log(write=lambda _: None))
    for name in names:
        found.found(name, WatchTarget(name, f"http://{name}:8000"))
    return found


def lasting(engine: str, since: float, until: float | None, state: str = "recovered"):
    return replace(INCIDENT, id=0, engine_id=engine, since=since, recovered=until, state=state)


def test_trouble_is_counted_within_the_time_alone():
    watch = watcher("a", "b", "c")
    watch.ledger.write(lasting("a", NOW - 2 * DAY, NOW - DAY + 100))  # 100 s of it
    watch.ledger.write(lasting("a", NOW - 50, None, "open"))
    watch.ledger.write(lasting("b", NOW - 3 * DAY, NOW - 2 * DAY))
    warned = replace(lasting("b", NOW - 500, NOW - 400), steps=(IncidentStep("warned", NOW - 500, Text("x")),))
    watch.ledger.write(warned)  # and passed
    found = health(watch, NOW - DAY, NOW)
    assert [(one.id, one.incidents, one.trouble_s) for one in found.engines] == [
        ("a", 2, 150.0), ("b", 0, 0.0), ("c", 0, 0.0),
    ]  # fmt: skip
    assert [one.engine_id for one in found.incidents] == ["b", "a", "a"]
    assert all(one.diagnosis is None for one in found.incidents)


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(
    ("after", "every_s", "due", "zone"),
    [
        ("2026-11-30 07:59", DAY, "2026-11-30 08:00", "UTC"),
        ("2026-11-30 08:00", DAY, "2026-12-01 08:00", "UTC"),
        ("2026-03-28 09:00", DAY, "2026-03-29 08:00", "Europe/Berlin"),  # put forward that night
        ("2026-10-24 09:00", DAY, "2026-10-25 08:00", "Europe/Berlin"),
        ("2026-11-30 08:30", 6 * 3600, "2026-11-30 14:00", "UTC"),
        ("2026-11-30 01:30", 6 * 3600, "2026-11-30 02:00", "UTC"),
        ("2026-12-02 12:00", 7 * DAY, "2026-12-07 08:00", "UTC"),  # a Monday
    ],
)
def test_it_is_due_at_its_time_of_day(after: str, every_s: float, due: str, zone: str):
    assert next_due(at(after, zone), every_s, "08:00", zone) == at(due, zone)


@given(st.floats(1.7e9, 1.9e9), st.sampled_from([3600, 5400, 6 * 3600, DAY, 3 * DAY, 7 * DAY]))
def test_it_is_always_ahead_and_within_a_period(after: float, every_s: float):
    due = next_due(after, float(every_s), "08:00", "Europe/Berlin")
    assert after < due <= after + every_s + 3600


async def test_a_report_is_written_and_told(tmp_path: Path):
    watch, got = watcher("a"), []
    watch.ledger.write(lasting("a", NOW - 100, NOW - 40))
    settings = ReportSettings(folder=str(tmp_path / "r"), lang="zh")
    await HealthReports(settings, Log(write=lambda _: None), [got.append]).once(watch, NOW)
    assert isinstance(got[0], HealthReport)
    files = sorted(path.name for path in (tmp_path / "r").iterdir())
    assert files == ["health-2027-01-15T0800Z.json", "health-2027-01-15T0800Z.md"]
    body = json.loads((tmp_path / "r" / files[0]).read_text("utf-8"))
    validate(body, schema("health"))
    assert body["engines"][0]["trouble_s"] == 60.0
    assert "1 起事件" in (tmp_path / "r" / files[1]).read_text("utf-8")


async def test_it_comes_by_itself_and_a_folder_that_cannot_be_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    lines: list[str] = []
    told = asyncio.Event()
    times = iter([at("2026-11-30 07:59"), at("2026-11-30 07:59"), at("2026-11-30 08:00")])
    last = at("2026-11-30 08:00")
    settings = ReportSettings(folder=str(tmp_path / "file" / "below"))
    reports = HealthReports(settings, Log(write=lines.append), [lambda _: told.set()], now=lambda: next(times, last))
    task = asyncio.create_task(reports.run(watcher("a")))
    await asyncio.wait_for(told.wait(), 30)
    task.cancel()
    assert any("cannot be written" in line for line in lines)


@pytest.mark.parametrize("text", ['every = "5m"', 'at = "25:00"', 'zone = "Mars"', 'lang = "fr"', "folders = 1"])
def test_settings_that_cannot_be_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "whystall.toml"
    path.write_text(f"[watch.report]\n{text}\n")
    with pytest.raises(UsageError, match=r"watch\.report"):
        load_settings(path)

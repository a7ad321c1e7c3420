"""The live screen's texts, from a shipped recording."""

import re
from pathlib import Path

import msgspec
import pytest
from rich.cells import cell_len

from whystall import pipeline
from whystall.reports.finding import Finding
from whystall.service.live_feed import Look
from whystall.service.screen_parts import (
    answer_lines,
    cause_rows,
    chosen,
    picture_lines,
    status_line,
    why_lines,
)
from whystall.sources.files.recording import read_recording


@pytest.fixture(scope="module")
def finding() -> Finding:
    data = Path(__file__).resolve().parents[2] / "data"
    return pipeline.diagnose(read_recording(data / "recordings" / "seq_cap"))


def test_before_there_is_an_answer_it_says_so():
    assert "3 scrapes" in answer_lines(Look(0.0, scrapes=3), "en")[0]
    assert status_line(None, "http://a:1", "en") == "http://a:1"
    assert "Unreachable" in status_line(Look(0.0, error="Unreachable"), "a", "en")


def test_the_answer_has_its_three_lines_and_the_mark(finding: Finding):
    lines = answer_lines(Look(0.0, finding), "en")
    assert len(lines) == 3
    assert lines[0].startswith("✘ BOTTLENECK  All seats taken")
    assert "席位" in answer_lines(Look(0.0, finding), "zh")[0]


def test_every_picture_fits_the_terminal(finding: Finding):
    for cells in (60, 80, 200):
        rows = picture_lines(finding.timeline, "en", cells)
        assert {"running", "waiting"} <= {row.split()[0] for row in rows}
        assert all(cell_len(row) <= cells for row in rows)
        chinese = picture_lines(finding.timeline, "zh", cells)
        assert all(cell_len(row) <= cells for row in chinese)
    assert picture_lines(None, "en", 80) == []


def test_the_causes_have_their_whys(finding: Finding):
    rows = cause_rows(finding.diagnosis, "en")
    assert rows[0].id == "seat_cap"
    assert rows[0].title == "All seats taken"
    whys = why_lines(finding.diagnosis.causes[0], "en")
    assert whys[1].startswith("✔")
    assert why_lines(None, "en") == ["No cause is named."]


def test_engines_go_round(finding: Finding):
    other = Finding(finding.diagnosis)
    both = Finding(finding.diagnosis, None, (finding, other))
    assert [chosen(both, number) for number in range(3)] == [finding, other, finding]
    assert chosen(finding, 7) is finding


def test_the_first_seconds_are_no_answer_and_ask_for_nothing(finding: Finding):
    window = msgspec.structs.replace(finding.diagnosis.window, seconds=2.0)
    early = msgspec.structs.replace(finding.diagnosis, verdict="unknown", window=window)
    assert answer_lines(Look(0.0, Finding(early), scrapes=3), "en") == ["Looking: 3 scrapes so far, more are needed."]


def test_since_when_is_a_time_of_day_because_the_window_moves(finding: Finding):
    rows = cause_rows(finding.diagnosis, "en")
    assert all(re.fullmatch(r"(before )?\d\d:\d\d:\d\d", row.since) for row in rows)
    assert {row.role for row in rows} <= {"limit", "trigger"}

from pathlib import Path

import pytest

from whystall.profiles.files import TraceOptions, report_of
from whystall.profiles.report import TraceReport
from whystall.reports.trace_tables import about, notes, sheets


@pytest.fixture(scope="module")
def report(shared: Path) -> TraceReport:
    return report_of([shared / "traces/public/vllm_b200_tp8_rank0_eager.json.gz"], TraceOptions())


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_table_is_rectangular(report: TraceReport, lang: str) -> None:
    found = sheets(report, lang)
    assert {sheet.id for sheet in found} == {
        "time", "classes", "phases", "kernels", "launches", "collectives", "copies", "path", "roofline",
    }  # fmt: skip
    for sheet in found:
        assert len(sheet.align) == len(sheet.header)
        assert all(len(row) == len(sheet.header) for row in sheet.rows)


def test_the_share_of_the_all_reduce(report: TraceReport) -> None:
    (row,) = next(sheet for sheet in sheets(report, "en") if sheet.id == "collectives").rows
    assert row[2:5] == ("18%", "2.14 ms", "100%")


def test_what_a_file_is(report: TraceReport) -> None:
    (file,) = report.files
    assert about(file, "en").endswith("rank 0 of 8 · NVIDIA B200 · 84.5 ms · 24,656 events")


def test_notes_are_told_once(report: TraceReport) -> None:
    told = list(notes(report, "en"))
    assert len(told) == len(set(told))
    assert any(level == "missing" and text.startswith("One of 8 ranks") for level, text in told)

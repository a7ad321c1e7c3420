from pathlib import Path

import pytest
from rich.cells import cell_len

from chrome_trace import document, kernel, render, write
from whystall.profiles.files import TraceOptions, report_of
from whystall.profiles.report import TraceReport
from whystall.reports.trace_tables import about, notes, sheets
from whystall.reports.trace_text import render_trace, trace_markdown


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


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_of_several_files_each_table_says_whose_it_is(tmp_path: Path, lang: str) -> None:
    events = render(document([kernel("k", 0, 5)]))
    long, hostile = "r" * 90 + ".json", "*b* <i>.json"
    report = report_of([write(tmp_path, events, name) for name in (long, hostile)], TraceOptions())
    titles = [sheet.title for sheet in sheets(report, lang)]
    assert len(titles) == len(set(titles))
    assert all(title.endswith((long, hostile)) for title in titles)
    assert "<i>" not in trace_markdown(report, lang)
    assert max(cell_len(line) for line in render_trace(report, lang, 80).splitlines()) <= 80

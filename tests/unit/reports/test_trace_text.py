from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Group

from chrome_trace import document, kernel, render, write
from whystall.profiles.files import TraceOptions, report_of
from whystall.profiles.report import TraceReport
from whystall.reports.text import printed
from whystall.reports.trace_sheet import Sheet
from whystall.reports.trace_text import render_trace, sheet_parts, trace_markdown


@pytest.fixture
def report(tmp_path: Path) -> TraceReport:
    events = [kernel("a|b *c* <b>x</b> " + "long" * 60, 0, 5), kernel("nccl", 3, 9)]
    return report_of([write(tmp_path, render(document(events)))], TraceOptions())


@pytest.mark.parametrize("width", [80, 100, 200])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_line_is_wider_than_the_terminal(report: TraceReport, width: int, lang: str) -> None:
    assert max(cell_len(line) for line in render_trace(report, lang, width).splitlines()) <= width


def test_numbers_are_never_cut() -> None:
    sheet = Sheet("x", "t", ("time", "name"), (("123.456 ms", "n" * 90),), "rl")
    assert "123.456 ms  " + "n" * 20 in printed(Group(*sheet_parts(sheet, 50)), 50, False)


def test_markdown_has_no_markup_from_outside(report: TraceReport) -> None:
    text = trace_markdown(report, "en")
    assert "<b>" not in text
    assert r"a\|b \*c\* &lt;b>x" in text
    assert "## Top kernels" in text


def test_a_narrow_table_cuts_texts_and_heads_and_never_a_number() -> None:
    header = ("function", "tasks", "the median time", "the longest time")
    sheet = Sheet("t", "Tasks", header, (("Worker.step_of_a_long_name", "12,345", "10.5 ms", "21.2 ms"),), "lrrr")
    text = printed(Group(*sheet_parts(sheet, 48)), 48, False)
    assert all(number in text for number in ("12,345", "10.5 ms", "21.2 ms"))
    assert max(map(len, text.splitlines())) <= 48

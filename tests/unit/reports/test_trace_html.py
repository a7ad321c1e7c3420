import json
import re
from pathlib import Path

import pytest

from chrome_trace import annotation, call, document, kernel, render, write
from whystall.profiles.files import TraceOptions, report_of
from whystall.profiles.report import TraceReport
from whystall.reports.trace_html import trace_html

ATTACK = "</script><script>alert(1)</script>\"'<img src=x>"


@pytest.fixture
def report(tmp_path: Path) -> TraceReport:
    events = [
        annotation("execute_context_0(0)_generation_2(2)" + ATTACK, 0, 9),
        call("c", 1, 1, 1),
        kernel(ATTACK, 5, 7, 1),
    ]
    return report_of([write(tmp_path, render(document(events)))], TraceOptions())


def test_nothing_from_outside_is_markup(report: TraceReport) -> None:
    page = trace_html(report, "en")
    assert "<img" not in page
    assert "<script>alert" not in page
    assert page.count("<script") == 3
    assert "http://" not in page
    assert "https://" not in page


def test_the_data_of_the_drawing(report: TraceReport) -> None:
    page = trace_html(report, "zh")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    (timeline,) = json.loads(found.group(1))["timelines"]
    (step,) = timeline["steps"]
    assert (step["phase"], step["start"], step["host"], step["gpu"]) == ("decode", 0, 9_000, [5_000, 12_000])
    assert timeline["kernels"][0][6] == ATTACK
    assert "步骤时间线" in page


@pytest.mark.browser
def test_the_page_draws_without_errors(report: TraceReport, tmp_path: Path) -> None:
    import shutil

    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's chromium")
    page_file = tmp_path / "page.html"
    page_file.write_text(trace_html(report, "en"), encoding="utf-8")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        errors: list[str] = []
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_file.as_uri())
        assert page.locator("table[data-table] tbody tr").count() == 1
        page.fill(".filter", "nothing like it")
        assert page.locator("table[data-table] tbody tr").count() == 0
        page.hover("canvas.lanes", position={"x": 700, "y": 100})
        assert "generation_2" in page.inner_text(".tip")
        browser.close()
    assert errors == []


def test_one_file_is_drawn_first_and_several_are_compared_first(tmp_path: Path) -> None:
    events = [annotation("execute_context_0(0)_generation_2(2)", 0, 9), call("c", 1, 1, 1), kernel("gemm", 5, 7, 1)]
    files = [write(tmp_path, render(document(events)), f"{name}.json") for name in "ab"]
    one, two = (trace_html(report_of(files[:count], TraceOptions()), "en") for count in (1, 2))
    assert one.startswith("<!doctype html>")
    assert (one.count("<canvas"), two.count("<canvas")) == (1, 2)
    assert one.index("<canvas") < one.index("<table")
    assert two.index("<table") < two.index("<canvas")

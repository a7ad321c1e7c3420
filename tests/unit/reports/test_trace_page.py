import pytest

from whystall.profiles.files import TraceOptions, report_of
from whystall.reports.trace_page import trace_page


@pytest.fixture(scope="module")
def report(data):
    return report_of([data / "traces" / "h200_m8b_graph.json.gz"], TraceOptions())


def test_it_has_the_tables_of_the_report_and_the_steps(report):
    page = trace_page(report, "en")
    assert page.headline == report.headline.en
    assert {"Where the GPU's time went", "Top kernels"} <= {sheet.title for sheet in page.sheets}
    assert len(page.timelines) == 1
    assert set(page.timelines[0]) == {"file", "end", "steps"}
    assert all(0 <= step["start"] <= page.timelines[0]["end"] for step in page.timelines[0]["steps"])


def test_it_speaks_chinese(report):
    assert trace_page(report, "zh").headline == report.headline.zh
    assert trace_page(report, "zh").sheets[0].title != trace_page(report, "en").sheets[0].title

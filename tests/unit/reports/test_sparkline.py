import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import findings
from whystall.model.text import Text
from whystall.model.timeline import TimelineLine
from whystall.reports import Finding, render
from whystall.reports.sparkline import BLOCKS, _row, onset_cell, spark_rows, sparkline


def test_a_rise_climbs_through_all_blocks():
    assert sparkline(np.arange(8.0), 8) == BLOCKS


def test_what_was_not_seen_is_blank():
    assert sparkline(np.array([0.0, math.nan, 1.0]), 3) == "▁ █"


def test_a_spike_stays_in_sight():
    values = np.zeros(1000)
    values[617] = 5.0
    assert sparkline(values, 10) == "▁▁▁▁▁▁█▁▁▁"


@given(arrays.arrays(float, st.integers(1, 200), elements=st.floats(-1e6, 1e6) | st.just(math.nan)), st.integers(1, 60))
def test_any_line_has_a_shape_of_the_width_asked_for(values, cells):
    shape = sparkline(values, cells)
    assert len(shape) == min(cells, len(values))
    assert set(shape) <= set(BLOCKS) | {" "}


def test_each_line_that_moves_has_a_row_with_its_span():
    rows = {row.label: row for row in spark_rows(findings.bottleneck(), "en", 30)}
    assert rows["blocks in use"].span.endswith("100%")
    assert rows["waiting"].span.startswith("0 – ")
    assert rows["waiting"].span.endswith(" requests")
    assert rows["TTFT"].span.count(" s") == 1 or "ms" in rows["TTFT"].span
    assert rows["waiting"].cells.startswith("▁")
    assert spark_rows(findings.unknown(), "en", 30) == ()


def test_the_mark_stands_under_the_onset():
    assert onset_cell(findings.bottleneck(), 60) == 14
    assert onset_cell(findings.healthy(), 60) is None
    assert onset_cell(Finding(findings.bottleneck().diagnosis), 60) is None


def test_it_stands_in_the_terminals_report():
    text = render(findings.bottleneck(), "text")
    mark = next(line for line in text.splitlines() if line.strip().startswith("▲") and "onset" in line)
    waiting = next(line for line in text.splitlines() if line.startswith("  waiting"))
    assert waiting[mark.index("▲") + 3] in BLOCKS[3:]


def test_a_unit_that_both_ends_share_is_said_once() -> None:
    line = TimelineLine("running", Text("running"), np.array([1.0, 12.0]))
    assert _row(line, "req", "en", 2).span == "1 – 12 requests"
    assert _row(line, "ratio", "en", 2).span.count("–") == 1

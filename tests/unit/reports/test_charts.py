import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import findings
from whystall.reports.charts import MOST_POINTS, chart_data, thinned


def test_onsets_and_limits_are_there_to_draw():
    data = chart_data(findings.bottleneck(), "en")
    assert [(onset.seconds, onset.first) for onset in data.onsets] == [(15.0, False), (14.0, True)]
    kv = data.panels[1].lines[0]
    assert (kv.limit, kv.limit_label) == (1.0, "2,500 blocks")
    assert len(kv.values) == len(data.t) == 60
    assert kv.values[40] is None


def test_without_a_timeline_there_is_nothing_to_draw():
    assert chart_data(findings.unknown(), "en").panels == []


def test_short_lines_are_left_alone():
    values = np.arange(10.0)
    assert thinned(values) is values


@given(st.integers(MOST_POINTS + 1, 5 * MOST_POINTS), st.integers(0, 2**31))
def test_a_long_line_keeps_its_lowest_and_highest(size, seed):
    values = np.random.default_rng(seed).normal(size=size)
    values[: size // 10] = math.nan
    kept = thinned(values)
    assert kept.size == MOST_POINTS
    assert np.nanmax(kept) == np.nanmax(values)
    assert np.nanmin(kept) == np.nanmin(values)

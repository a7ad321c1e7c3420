"""Replicas on a node's page, and the reports that stand there for longer than a scrape."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.recording import SeriesKey, SeriesTable
from whystall.sources.ray.replicas import engines_of, reported

KEY = SeriesKey("ray_vllm_generation_tokens_total", (("ReplicaId", "a"), ("engine", "0")))


def table(times, values, key=KEY):
    return SeriesTable(np.array(times, dtype=float), (key,), np.array([values], dtype=float))


def test_a_report_that_stands_for_ten_scrapes_is_one_sample():
    times = np.arange(0.0, 41.0)
    values = np.floor((times + 7) / 10) * 500  # a report at 3, 13, 23, 33
    found = reported(table(times, values))
    assert found.times.tolist() == [3.0, 13.0, 23.0, 33.0]
    assert np.diff(found.values[0]).tolist() == [500.0] * 3


def test_a_page_that_changes_with_each_scrape_keeps_all_but_the_first():
    found = reported(table(range(6), range(6)))
    assert found.times.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_an_idle_engine_keeps_its_pages():
    assert len(reported(table(range(6), [7] * 6)).times) == 6


def test_a_standstill_after_reports_is_kept_as_one():
    times = np.arange(0.0, 101.0)
    found = reported(table(times, np.minimum(np.floor(times / 10), 2)))
    assert found.times.tolist() == [10.0, 20.0, 45.0, 70.0, 95.0]


def test_replicas_are_told_apart_and_lose_rays_labels():
    keys = tuple(
        SeriesKey("ray_vllm_num_requests_running", (("NodeAddress", "n"), ("ReplicaId", name), ("engine", "0")))
        for name in "ab"
    )
    other = SeriesKey("ray_tasks", (("ReplicaId", "a"),))
    found = engines_of(SeriesTable(np.arange(2.0), (*keys, other), np.ones((3, 2))))
    assert {name: one.keys for name, one in found.items()} == {
        name: (SeriesKey("ray_vllm_num_requests_running", (("engine", "0"),)),) for name in "ab"
    }


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=60))
def test_no_token_is_lost_or_made_between_the_first_and_the_last_report(steps):
    times = np.cumsum([dt for dt, _ in steps]).astype(float)
    values = np.cumsum([rise for _, rise in steps]).astype(float)
    found = reported(table(times, values))
    assert set(found.times.tolist()) <= set(times.tolist())
    assert (np.diff(found.times) > 0).all()
    for t, value in zip(found.times, found.values[0], strict=True):
        assert value == values[times == t][0]
    assert found.values[0][-1] == values[-1]

"""Phases to a table."""

import math

import numpy as np
import pytest

from whystall.sources.files.ticket.page import table_of
from whystall.sources.files.ticket.phase import Phase, Span

PHASES = [
    Phase(seconds=10, running=Span(2, 2), generation=Span(20, 20), itl=((1.0, 0.1),), rate=1.0, ttft=((1.0, 0.3),)),
    Phase(seconds=10, running=Span(2, 4), generation=Span(0, 0), still=True),
]


def series(name, phases=PHASES):
    table = table_of([phases], [0.0, 10.0, 20.0], {})
    return {key.name: table.values[at] for at, key in enumerate(table.keys) if key.name.startswith(name)}


def test_counters_are_integrals_and_gauges_the_values_at_the_scrape():
    assert series("vllm:generation_tokens_total")["vllm:generation_tokens_total"].tolist() == [0, 200, 200]
    assert series("vllm:num_requests_running")["vllm:num_requests_running"].tolist() == [2, 2, 4]


def test_what_was_not_stated_is_on_no_page():
    assert series("vllm:kv_cache_usage_perc") == {}
    assert series("vllm:num_preemptions_total") == {}


def test_histograms_hold_their_sum_and_count():
    found = series("vllm:time_to_first_token_seconds")
    assert found["vllm:time_to_first_token_seconds_count"][-1] == 10
    assert found["vllm:time_to_first_token_seconds_sum"][-1] == pytest.approx(3.0)


def test_a_gauge_is_unknown_where_its_phase_does_not_state_it():
    found = series("vllm:num_requests_waiting", [PHASES[0], Phase(seconds=10, waiting=Span(3, 3))])
    values = found["vllm:num_requests_waiting"]
    assert math.isnan(values[1])
    assert np.isfinite(values[2])

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import shared_folder
from whystall.evidence.comparison import SHARE_OUTSIDE, compare, compare_settings, departures, lasting_from, pairs
from whystall.evidence.figures import FIGURES
from whystall.model.comparison import Side
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Engine, Limit, Window
from whystall.sources.files.recording import read_recording
from whystall.state.engine import engine_states

SIDE = Side("x", Engine(), Window(0.0, 1.0, 1.0))


@pytest.fixture(scope="module")
def state():
    """The states of shared recordings by name, without a configuration."""
    known = {}

    def of(name):
        folder = shared_folder()
        if folder is None:
            pytest.skip("needs the shared recordings (../shared or $WHYSTALL_SHARED)")
        if name not in known:
            (known[name],) = engine_states(read_recording(folder / "recordings" / name), Configuration())
        return known[name]

    return of


def by_id(found):
    return {one.id: one for one in found}


def test_a_server_is_like_itself(state):
    comparison = compare(state("healthy"), state("healthy"), (SIDE, SIDE))
    assert comparison.configuration == ()
    assert not [one.id for one in comparison.figures if one.differs]
    assert comparison.departures == ()


def test_figures_of_a_full_cache_against_a_healthy_server(state):
    figures = by_id(compare(state("healthy"), state("kv_overflow"), (SIDE, SIDE)).figures)
    # What the load was made of: 512 + 128 tokens against 1024 + 512 (README of the recordings).
    assert figures["prompt_tokens"].a == pytest.approx(512, rel=0.01)
    assert figures["prompt_tokens"].b == pytest.approx(1024, rel=0.01)
    assert figures["ttft_mean"].differs
    assert figures["ttft_mean"].ratio > 50
    assert figures["preemption_rate"].a == 0.0
    assert figures["preemption_rate"].b > 1.0
    assert figures["preemption_rate"].ratio is None


def test_the_queue_leaves_its_range_when_the_cache_is_full(state):
    left = by_id(departures(state("healthy"), state("kv_overflow")))
    assert left["prompt_tokens"].onset is None
    for id in ("waiting", "preemption_rate"):
        assert 14 <= left[id].onset.seconds <= 22
        assert left[id].onset.low < left[id].onset.high


def test_departures_are_in_order_of_time(state):
    times = [one.onset.seconds if one.onset else 0.0 for one in departures(state("healthy"), state("seq_cap"))]
    assert times == sorted(times)


def test_what_only_one_side_has_is_shown_without_a_ratio(state):
    figures = by_id(
        compare(state("healthy"), msgspec.structs.replace(state("healthy"), gpu=None), (SIDE, SIDE)).figures
    )
    assert figures["gpu_power"].a > 0
    assert figures["gpu_power"].b is None
    assert figures["gpu_power"].ratio is None
    assert not figures["gpu_power"].differs


def test_settings_that_differ_are_named_with_both_values(state):
    first = msgspec.structs.replace(
        state("healthy"),
        configuration=Configuration(version="0.26.0", flags={"max_num_seqs": "8", "api_key": "s3cret"}),
        limits=(Limit("max_num_seqs", 8, "reported"),),
    )
    second = msgspec.structs.replace(
        first,
        configuration=Configuration(version="0.32.0", flags={"api_key": "other"}, enforce_eager=True),
        limits=(Limit("max_num_seqs", 256, "default"),),
    )
    found = [(one.name, one.kind, one.a, one.b) for one in compare_settings(first, second)]
    assert ("version", "property", "0.26.0", "0.32.0") in found
    assert ("enforce_eager", "property", None, "True") in found
    assert ("max_num_seqs", "flag", "8", None) in found
    assert ("max_num_seqs", "limit", "8", "256") in found
    assert not [value for row in found for value in row if value and ("s3cret" in value or "other" in value)]


def test_block_counts_of_two_starts_are_the_same_limit(state):
    first = msgspec.structs.replace(state("healthy"), limits=(Limit("num_gpu_blocks", 58348, "reported"),))
    second = msgspec.structs.replace(first, limits=(Limit("num_gpu_blocks", 58378, "reported"),))
    fewer = msgspec.structs.replace(first, limits=(Limit("num_gpu_blocks", 2500, "reported"),))
    assert list(compare_settings(first, second)) == []
    assert [(one.a, one.b) for one in compare_settings(first, fewer)] == [("58348", "2500")]


def test_engines_are_paired_by_label_then_by_order(state):
    one = state("healthy")
    a = [msgspec.structs.replace(one, engine=Engine(id=id, model="m")) for id in ("0", "1")]
    b = [msgspec.structs.replace(one, engine=Engine(id=id, model="m")) for id in ("1", "0")]
    assert [(x.engine.id, y.engine.id) for x, y in pairs(a, b)] == [("0", "0"), ("1", "1")]
    renamed = [msgspec.structs.replace(one, engine=Engine(id="9", model="other"))]
    assert [(x.engine.id, y.engine.id) for x, y in pairs(a, renamed)] == [("0", "9")]


def test_a_single_odd_interval_is_no_departure():
    outside = np.zeros(60, dtype=bool)
    outside[7] = True
    assert lasting_from(outside) is None
    outside[40:] = True
    assert lasting_from(outside) == 40


@given(st.lists(st.booleans(), max_size=80))
def test_from_a_departure_on_most_is_outside(flags):
    at = lasting_from(np.array(flags, dtype=bool))
    if at is not None:
        assert flags[at]
        assert sum(flags[at:]) >= SHARE_OUTSIDE * (len(flags) - at) - 1e-9


def test_steady_halves_of_one_run_are_alike(state):
    whole = state("healthy")
    assert not math.isnan(FIGURES[0].value(whole))
    half = len(whole.t_end) // 2
    first, second = (msgspec.structs.replace(whole, valid=whole.valid & side) for side in _halves(whole, half))
    differing = [
        one.id for one in compare(first, second, (SIDE, SIDE)).figures if one.differs and one.group == "latency"
    ]
    assert differing == []


def _halves(state, half):
    before = np.arange(len(state.t_end)) < half
    return before, ~before

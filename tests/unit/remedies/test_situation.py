import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situations import GIB, diagnosis, gpu, phase, server
from whystall.model.diagnosis import Onset
from whystall.model.text import Text
from whystall.remedies.candidate import act, switched_on, turned, without
from whystall.remedies.capacity import offered_over_served, replicas, shedding
from whystall.remedies.pool import block_bytes, blocks_without_override, free_bytes, higher_share
from whystall.remedies.situation import power_of_two, rounded_up, situation

WORDS = (Text("more", "更多"), Text("less", "更少"))


def case(**told):
    return situation(diagnosis("seat_cap", kv_saturated=(0.9, 1.2)), server(**told))


def test_numbers_of_the_incident():
    found = case()
    assert (found.demand(), found.mean(found.state.running_end)) == (56, 16)
    # A fifth of 9,999 blocks of 16 tokens for 16 sequences.
    assert found.tokens_a_sequence() == pytest.approx(0.2 * 9_999 * 16 / 16)
    assert found.seats_in_pool() == pytest.approx(80)
    assert found.rate(found.state.finished) == pytest.approx(8)
    assert (found.value("kv.saturated"), found.strength("kv.saturated")) == (0.9, 1.2)
    assert math.isnan(found.value("seats.full"))
    assert found.strength("seats.full") == 0


def test_the_incident_begins_with_the_onset():
    state = server(phases=(phase(seconds=20, running=2), phase(seconds=10, running=200)))
    late = diagnosis("seat_cap")
    cause = msgspec.structs.replace(late.causes[0], onset=Onset(20.0, 19.0, 21.0))
    found = situation(msgspec.structs.replace(late, causes=(cause,)), state)
    assert found.mean(state.running_end) == 200


def test_what_was_not_seen_is_nan():
    found = case(limits={"num_gpu_blocks": 0})
    assert math.isnan(found.limit("num_gpu_blocks"))
    assert math.isnan(found.seats_in_pool())
    assert math.isnan(found.mean(np.full(len(found.state.dt), np.nan)))
    assert math.isnan(found.tokens_per_s())


@pytest.mark.parametrize(("count", "rounded"), [(3, 3), (7.2, 8), (9, 16), (56, 56), (57, 64)])
def test_counts_are_rounded_up(count, rounded):
    assert rounded_up(count) == rounded


@given(st.floats(1, 1e6))
def test_a_power_of_two_is_within_a_factor_of_the_square_root_of_two(tokens):
    assert 1 / 1.42 <= power_of_two(tokens) / tokens <= 1.42


def test_words_say_which_way_a_value_moves():
    found = case(flags={"max_num_seqs": "256"})
    text = {value: turned(found, "max_num_seqs", value, *WORDS).text for value in (512, 64)}
    assert text[512].en == "Raise --max-num-seqs from 256 to 512"
    assert text[64].zh == "把 --max-num-seqs 从 256 降到 64"
    assert turned(found, "long_prefill_token_threshold", 512, *WORDS).text.en.startswith("Set ")
    assert switched_on(found, "async_scheduling", *WORDS).text.en == "Start with --async-scheduling"


def test_a_switch_that_is_off_goes_by_its_off_form():
    off = case(flags={"enable_prefix_caching": "False"}, prefix_caching=False)
    assert without(off, "enable_prefix_caching", *WORDS).text.en == "Start without --no-enable-prefix-caching"
    assert act("host", "x", *WORDS).restart is False


def test_the_pools_bytes():
    state = gpu(server(kv_cache_bytes=20 * GIB, limits={"gpu_memory_utilization": 0.5}), 75)
    found = situation(diagnosis("kv_capacity"), state)
    assert block_bytes(found) == 20 * GIB / 10_000
    assert free_bytes(found) == 65 * GIB
    # Half of 140 GiB less the 55 beside the pool.
    assert blocks_without_override(found) == pytest.approx(15 / 20 * 10_000)
    assert higher_share(found) == 0.95
    nearly_full = gpu(server(limits={"gpu_memory_utilization": 0.9}), 135.2)
    assert higher_share(situation(diagnosis("kv_capacity"), nearly_full)) == pytest.approx(0.92)


def test_nothing_is_said_of_memory_that_was_not_seen():
    found = case()
    assert all(math.isnan(x) for x in (free_bytes(found), block_bytes(found), higher_share(found)))


def test_replicas_are_at_least_two():
    assert "about 2 where" in replicas(math.nan, WORDS[0]).text.en
    assert "about 4 where" in replicas(3.0, WORDS[0]).text.en


def test_a_queue_that_stands_is_served_as_it_comes():
    assert offered_over_served(case()) == pytest.approx(1.0)
    idle = case(phases=(phase(running=0, waiting=0, rate=0),))
    assert list(shedding(idle)) == []

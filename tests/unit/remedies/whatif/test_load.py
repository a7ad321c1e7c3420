"""The load drawn anew keeps its size, and changes of it do what they say."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.engine.workload import Arrival
from whystall.model.recording import SeriesKey, SeriesTable
from whystall.remedies.whatif.load import LoadDraw, _whole_plateau, at_rate, shared_by, with_clients, within_length
from whystall.state.arrivals import Kind, Segment


def load(count=200, clients=0, seed=1):
    arrivals = tuple(Arrival(t=i * 0.1, prompt_tokens=100 + i, output_tokens=10) for i in range(count))
    kinds = tuple(Kind(100 + i, 10) for i in range(count))
    return LoadDraw(0.0, (Segment(0.0, count * 0.1, clients, () if clients else arrivals, kinds),), seed)


def sent(draw):
    return sum(len(segment.arrivals) for segment in draw.segments)


@given(st.floats(0.1, 5.0))
def test_so_many_times_the_requests(factor):
    assert abs(sent(at_rate(load(), factor)) - 200 * factor) < 60


@given(st.integers(1, 9), st.integers(1, 30))
def test_replicas_share_all_requests(replicas, seed):
    shares = [sent(shared_by(load(seed=seed + turn), replicas)) for turn in range(replicas)]
    assert sum(shares) == 200
    assert max(shares) - min(shares) <= 1


def test_clients_are_shared_and_set():
    (one,) = shared_by(load(clients=9), 3).segments
    assert one.clients == 3
    assert with_clients(load(clients=9), 4).segments[0].clients == 4
    assert with_clients(load(), 4).segments[0].clients == 0


def test_what_is_too_long_is_refused_and_counted():
    cut = within_length(load(), 210)
    assert sent(cut) == 101
    assert cut.refused_per_s == 99 / 20


def table_of(inside):
    """A page a second of a server in which so many requests run; as many come as end."""
    times = np.arange(float(len(inside)))
    keys = tuple(SeriesKey(f"vllm:num_requests_{name}", (("engine", "0"),)) for name in ("running", "waiting"))
    return SeriesTable(1e9 + times, keys, np.array([inside, [0] * len(inside)], dtype=float))


def segment(start, seconds, clients, count=0):
    arrivals = tuple(Arrival(start + 0.1 * i, 100, 10) for i in range(count))
    return Segment(start, seconds, clients, arrivals, (Kind(100, 10),))


def test_a_loop_whose_clients_are_met_between_two_requests_is_one_loop():
    inside = [11, 11, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 10, 10, 10]
    parts = [segment(0, 5, 0, 12), segment(5, 5, 11), segment(10, 4, 11), segment(14, 2, 0, 3)]
    (one,) = _whole_plateau(parts, table_of(inside))
    assert (one.start, one.seconds, one.clients, one.arrivals) == (0, 16, 11, ())


def test_a_rise_to_a_loop_and_another_size_are_their_own():
    rising = [0, 2, 4, 7, 9, 11, 11, 11, 11, 11, 11, 22, 22, 22, 22, 22, 22]
    parts = [segment(0, 5, 0, 12), segment(5, 6, 11), segment(11, 5, 22)]
    assert _whole_plateau(parts, table_of(rising)) == parts

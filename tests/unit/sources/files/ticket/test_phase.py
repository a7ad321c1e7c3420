"""What follows from the figures of a case by Little's law."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.files.ticket.figure import Figure
from whystall.sources.files.ticket.phase import phase_of


def phase(seats=math.nan, **values):
    return phase_of({name.replace("__", "."): Figure(v, v) for name, v in values.items()}, seats)


def test_each_running_request_gets_a_token_a_step():
    assert phase(running=8, generation_tps=240).itl == ((1.0, pytest.approx(1 / 30)),)


def test_who_has_no_seat_waits():
    found = phase(seats=8, in_flight=32, e2e=3.5)
    assert (found.running.last, found.waiting.last) == (8, 24)
    assert found.rate == pytest.approx(32 / 3.5)


def test_what_comes_and_is_not_served_queues_up():
    found = phase(offered_rate=10, rate=4, duration=60)
    assert (found.waiting.first, found.waiting.last) == (0, 360)


def test_a_median_a_mean_and_a_tail_are_a_mixture():
    (usual, late) = phase(running=3, itl__p50=0.045, itl__mean=0.84, itl__p99=8.1).itl
    assert usual[0] * usual[1] + late[0] * late[1] == pytest.approx(0.84)


def test_totals_are_known_by_the_rates():
    found = phase(in_flight=30, rate=1.21, requests=100, output=603, prompt=77700, generation_tps=7.27)
    assert found.output == pytest.approx(6.03)
    assert found.prompt == pytest.approx(777)


def test_tokens_that_stand_still_with_requests_inside():
    assert phase(prompt_tps=20000, generation_tps=0).still
    assert not phase(running=0, generation_tps=0).still


def test_nothing_is_made_up():
    found = phase(running=3)
    assert not found.enough
    assert math.isnan(found.rate)


@given(
    st.dictionaries(
        st.sampled_from(["running", "in_flight", "rate", "e2e", "ttft", "itl", "generation_tps", "output"]),
        st.floats(0, 1e6),
    )
)
def test_any_figures_make_a_phase(values):
    found = phase(**values)
    assert not found.running.known or found.running.first >= 0
    assert found.seconds > 0

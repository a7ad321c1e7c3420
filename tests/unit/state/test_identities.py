"""The laws of method.md 1 on windows that keep them, and on windows that don't."""

import msgspec
import numpy as np
import pytest

import hostile
from states import blank, state_of
from whystall.model.configuration import Configuration
from whystall.state.engine import engine_states
from whystall.state.identities import identities

# 8 requests a second for 2 s each, so 16 running, by Little's law; a fifth of a second queued each, so 1.6 waiting.
STEADY = {
    "seconds": 60,
    "rate": 8,
    "running": 16,
    "waiting": 1.6,
    "queue_s": 0.2,
    "prefill_s": 0.1,
    "front_s": 0.01,
    "output": 126.6667,
    "itl_ms": 15,
    "kv": 0.3,
    "cached": 0.25,
}


def laws(state):
    return {law.id: law for law in identities(state)}


@pytest.fixture(scope="module")
def steady():
    return state_of(STEADY)


@pytest.mark.parametrize("law", ["I1", "I2", "I14"])
def test_a_steady_server_keeps_the_law(steady, law):
    found = laws(steady)[law]
    assert found.value == pytest.approx(1, abs=0.03)
    assert found.holds is True


def test_the_parts_are_the_whole_but_for_the_front_end(steady):
    found = laws(steady)["I11"]
    assert found.value == pytest.approx(2.2 / 2.21, abs=0.001)
    assert found.holds is True


def test_time_lost_preempted_breaks_residence():
    found = laws(state_of({**STEADY, "running": 20}))["I1"]
    assert found.value < 0.85
    assert found.holds is False


def test_a_queue_that_the_histogram_does_not_know_breaks_waiting():
    assert laws(state_of({**STEADY, "waiting": 3}))["I2"].holds is False


def test_parts_longer_than_the_whole_break_the_sum(steady):
    twice = msgspec.structs.replace(steady.e2e, sum=steady.e2e.sum * 0.8)
    assert laws(msgspec.structs.replace(steady, e2e=twice))["I11"].holds is False


def test_a_short_window_proves_nothing():
    assert laws(state_of({**STEADY, "seconds": 12}))["I1"].holds is None


@pytest.mark.parametrize("state", [blank(np.ones(40)), blank([])], ids=["nothing seen", "no interval"])
def test_what_was_not_seen_is_not_tested(state):
    assert {law.id for law in identities(state)} == {"I1", "I2", "I3", "I4", "I11", "I14"}
    assert all(law.value is None and law.holds is None for law in identities(state))


def test_the_clients_tokens_and_requests_are_the_servers():
    recording = hostile.window({**STEADY, "seconds": 40, "output": 100, "running": 10, "waiting": 0, "rate": 1})
    rows = hostile.client(40, value=1.0)
    tokens = np.full(40, 10 / 0.015)
    recording = msgspec.structs.replace(recording, client=msgspec.structs.replace(rows, output_tokens=tokens))
    (state,) = engine_states(recording, Configuration())
    found = laws(state)
    # A row stands at each second from the first scrape on; the one at the first scrape itself lies before the window.
    assert found["I3"].value == pytest.approx(39 / 40, abs=0.001)
    assert found["I3"].holds is True
    assert found["I4"].value == -1
    assert found["I4"].holds is True


def test_every_law_is_said_in_two_languages(steady):
    assert all(law.text.zh != law.text.en for law in identities(steady))


def test_a_queue_that_still_grows_proves_nothing() -> None:
    """Most of the waiting is of requests that have not finished: their time is in the integral alone."""
    state = state_of({**STEADY, "seconds": 20}, {**STEADY, "seconds": 60, "waiting": 400})
    found = next(identity for identity in state.identities if identity.id == "I2")
    assert found.value is not None
    assert found.holds is None


def test_a_gauge_that_jumps_between_scrapes_proves_nothing() -> None:
    state = state_of({**STEADY, "seconds": 60})
    flicker = np.arange(60) % 2 * 4.0
    start, end = np.concatenate(([0.0], flicker[:-1])), flicker
    few = msgspec.structs.replace(state, running_start=start, running_end=end)
    assert next(identity for identity in identities(few) if identity.id == "I1").holds is not False

"""What was asked of an engine in a part of its window."""

import numpy as np

from states import state_of
from whystall.state.demand import demand_of

CALM = {"seconds": 20, "running": 8, "kv": 0.1, "rate": 4.0, "prompt": 200, "output": 100, "itl_ms": 10}


def halves(state):
    first = np.arange(len(state.dt)) < 20
    return demand_of(state, first), demand_of(state, ~first)


def test_rates_and_lengths_of_each_half():
    before, after = halves(state_of(CALM, CALM | {"prompt": 2000}))
    assert before.rate == 4.0
    assert {kind.prompt for kind in before.kinds} == {200}
    assert {kind.prompt for kind in after.kinds} == {2000}
    assert all(0 <= t <= before.seconds for t in before.times)


def test_outputs_that_grow_are_those_of_the_stretch():
    before, after = halves(state_of(CALM, CALM | {"output": 900}))
    assert {kind.output for kind in before.kinds} == {100}
    assert {kind.output for kind in after.kinds} == {900}


def test_what_others_had_too_is_shared():
    before, after = halves(state_of(CALM | {"cached": 0.5}, CALM))
    assert before.kinds[0].shared == 100
    assert after.kinds[0].shared == 0


def test_clients_that_wait_are_a_closed_loop():
    (loop, _) = halves(state_of(CALM | {"rate": 8.0}, CALM | {"running": [3, 9, 5, 12, 7]}))
    assert loop.clients == 8


def test_who_is_refused_has_come_too():
    before, after = halves(state_of(CALM, CALM | {"refused": 3}))
    assert after.rate == before.rate + 3
    assert after.clients == 0


def test_a_stretch_without_a_first_token_is_no_demand():
    state = state_of(CALM | {"running": 0, "rate": 0.0})
    assert demand_of(state, np.ones(len(state.dt), dtype=bool)) is None
    assert demand_of(state, np.zeros(len(state.dt), dtype=bool)) is None

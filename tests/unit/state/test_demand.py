"""What was asked of an engine in a part of its window."""

import msgspec
import numpy as np

from states import state_of
from whystall.state.arrivals import Kind
from whystall.state.demand import Demand, demand_of, led, paired

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


def crowds(steps: float):
    second, rest = (
        CALM | {"seconds": 1, "rate": 60.0, "steps": steps},
        CALM | {"seconds": 5, "rate": 0.0, "steps": steps},
    )
    state = state_of(*[second, rest] * 6)
    return demand_of(state, np.ones(len(state.dt), dtype=bool))


def test_who_comes_in_crowds_comes_at_one_moment():
    found = crowds(steps=100.0)
    assert len(found.times) == 360
    assert len(set(found.times)) <= 36  # 60 in one second and none in five: some at a time
    (calm, _) = halves(state_of(CALM, CALM))
    assert not calm.in_crowds
    assert found.in_crowds


def test_a_page_that_moves_once_a_second_tells_of_no_crowd():
    found = crowds(steps=1.0)
    assert len(set(found.times)) == len(found.times) == 360
    second = np.bincount(np.asarray(found.times, dtype=int), minlength=36)
    assert second.max() < 50  # they came in the four steps up to it, and not all in the last second


def test_who_went_away_unserved_is_counted_by_the_first_tokens():
    leaving = CALM | {"seconds": 10, "running": [32] * 5 + [8] * 5, "rate": 0.0, "first": 4.0}
    state = state_of(leaving)
    state = msgspec.structs.replace(state, first_tokens=np.full(len(state.dt), 4.0))
    assert len(demand_of(state, np.ones(len(state.dt), dtype=bool)).times) == 4  # of the interval in which 24 left


def test_a_mean_that_grows_is_no_spread():
    phases = [CALM | {"seconds": 6, "output": output} for output in (100, 300, 500, 700, 900)]
    state = state_of(*phases)
    found = demand_of(state, np.ones(len(state.dt), dtype=bool))
    lengths = np.asarray([kind.output for kind in found.kinds])
    assert lengths.std() < 0.5 * lengths.mean()


def load(rate: float, output: int, seconds: float = 30.0, prompt: int = 200, clients: int = 0) -> Demand:
    times = tuple(n / rate for n in range(int(rate * seconds)))
    return Demand(seconds, times, clients, (Kind(prompt, output),) * len(times))


def test_what_did_not_change_is_the_same_in_both():
    healthy, incident = paired(load(10.0, 200), load(10.3, 192, prompt=900))
    assert healthy.times == incident.times
    assert {kind.output for kind in incident.kinds} == {200}
    assert {kind.prompt for kind in incident.kinds} == {900}


def test_what_changed_stays_as_it_is():
    healthy, incident = load(10.0, 200), load(20.0, 500)
    assert paired(healthy, incident) == (healthy, incident)
    crowded = msgspec.structs.replace(load(10.0, 200), times=(1.0,) * 300)
    assert paired(healthy, crowded)[0] == healthy
    assert paired(load(10.0, 200, clients=8), load(10.0, 200))[0].clients == 8


def test_who_was_inside_at_the_start_came_before():
    whole = led(load(10.0, 200), 12, 20.0)
    assert sum(t < 20.0 for t in whole.times) == 12
    assert len(whole.kinds) == len(whole.times) == 312
    assert whole.seconds == 50.0
    assert min(t for t in whole.times if t >= 20.0) == 20.0
    loop = load(10.0, 200, clients=8)
    assert led(loop, 12, 20.0) is loop
    assert led(load(10.0, 200), 0, 20.0) == load(10.0, 200)


def test_rates_that_differ_by_chance_are_the_same():
    healthy, incident = paired(load(3.0, 200), load(3.6, 200, seconds=40.0))
    assert healthy.times == incident.times
    assert paired(load(30.0, 200), load(36.0, 200))[0].rate == 30.0  # of nine hundred a fifth is no chance

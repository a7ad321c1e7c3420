"""Features of an incident in a healthy load, and the other way round."""

import math

import msgspec
import numpy as np
import pytest

from whystall.causes.rerun import LOAD, Bench, _at_rate, _mixed, paced_mean
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.profiles import load_profile
from whystall.state.arrivals import Kind
from whystall.state.demand import Demand

PROFILE = load_profile("h200-8b")
OPTIONS = EngineOptions(num_gpu_blocks=2500, max_num_seqs=1024, async_scheduling=True)


def demand(rate, prompt, output=200, shared=0, seconds=30.0, clients=0):
    times = tuple(n / rate for n in range(int(rate * seconds)))
    return Demand(seconds, times, clients, (Kind(prompt, output, shared),) * len(times))


def bench(healthy, incident, options=OPTIONS):
    return Bench(healthy, incident, options, PROFILE)


def test_each_feature_goes_in_by_itself():
    both = bench(demand(8, 400), demand(8, 4000))
    calm, longer = both.run(), both.run(("prompts",))
    assert longer.ttft_mean_s > 5 * calm.ttft_mean_s
    assert both.run(("outputs",)).ttft_mean_s == calm.ttft_mean_s


def test_a_limit_that_is_lifted_binds_nothing():
    both = bench(demand(8, 400), demand(8, 4000))
    assert both.run(LOAD, lifted=("blocks",)).queue_mean_s < 0.1 < both.run(LOAD).queue_mean_s
    assert both.run(LOAD, lifted=("seats",)).ttft_mean_s == both.run(LOAD).ttft_mean_s


def test_clients_of_a_closed_loop_and_a_step_time():
    both = bench(demand(5, 400), demand(5, 400, clients=64))
    assert both.run(LOAD).running_mean > 3 * both.run().running_mean
    slowed = PROFILE.scaled(floor_s=4)
    assert both.run(slowed=slowed).itl_mean_s > 2 * both.run().itl_mean_s


def test_sharing_is_a_share_of_the_prompt():
    both = bench(
        demand(20, 4000, 20, shared=3900), demand(20, 4000, 20), msgspec.structs.replace(OPTIONS, num_gpu_blocks=50000)
    )
    assert both.run(("sharing",)).ttft_mean_s > 3 * both.run().ttft_mean_s


def test_giants_are_few():
    few = Demand(30.0, (1.0,), 0, (*((Kind(100, 50),) * 9), Kind(9000, 50)))
    assert bench(demand(5, 100), few).giants == {9000}
    assert bench(demand(5, 100), demand(5, 9000)).giants == frozenset()


def test_a_run_is_made_once():
    both = bench(demand(5, 400), demand(5, 500))
    assert both.run(LOAD) is both.run(LOAD)


def test_a_giant_comes_with_its_own_answer():
    few = Demand(30.0, (1.0,), 0, (*((Kind(100, 50),) * 9), Kind(9000, 7)))
    load, _ = _mixed(bench(demand(5, 100, 300), few), frozenset(("giants",)), 30.0)
    assert {(a.prompt_tokens, a.output_tokens) for a in load} == {(100, 300), (9000, 7)}


def test_a_crowd_stays_together_at_another_rate():
    crowd = [float(t) for t in range(30) for _ in range(20)]
    thinned = _at_rate(crowd, 5.0, 30.0)
    assert 60 < len(thinned) < 260
    assert all(thinned.count(t) == 20 for t in set(thinned))
    assert _at_rate(crowd, 18.0, 30.0) == crowd  # 27 crowds in place of 30 are chance


def test_what_came_before_it_hurt_is_played_and_not_measured():
    growing = demand(8, 400, 2000, seconds=60.0)
    early, late = (Bench(demand(8, 400), growing, OPTIONS, PROFILE, lead_s=lead) for lead in (0.0, 40.0))
    assert late.run(LOAD).ttft_mean_s > 1.3 * early.run(LOAD).ttft_mean_s
    assert late.run(LOAD).kv_usage_mean > early.run(LOAD).kv_usage_mean


def test_a_quick_second_is_no_more_than_a_second():
    # Nine seconds with a step each for ten requests, and one with two hundred.
    counts, gaps = np.asarray([10.0] * 9 + [2000.0]), np.asarray([1.0] * 9 + [0.005])
    assert paced_mean(counts * gaps, counts, np.ones(10)) == pytest.approx(0.9005)
    # A second without a token is like the next, whose gaps reach back over it.
    assert paced_mean(np.asarray([1.0, 0.0, 20.0]), np.asarray([10.0, 0.0, 10.0]), np.ones(3)) == pytest.approx(
        1.3667, abs=1e-3
    )
    assert math.isnan(paced_mean(np.zeros(2), np.zeros(2), np.ones(2)))

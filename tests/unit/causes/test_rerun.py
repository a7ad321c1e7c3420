"""Features of an incident in a healthy load, and the other way round."""

import msgspec

from whystall.causes.rerun import LOAD, Bench
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

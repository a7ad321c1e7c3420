"""Traces are drawn as the plan says, and again the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.emulator.engine.workload import Arrival, LengthClass
from whystall.errors import UsageError
from whystall.trials.load.plan import LoadPlan
from whystall.trials.load.trace import Trace

KIND = LengthClass(1.0, (50, 90), (10, 30))


@given(st.floats(0.5, 50), st.integers(1, 5), st.integers(0, 2**31))
def test_arrivals_are_in_order_within_the_time_and_drawn_from_the_seed(rate: float, burst: int, seed: int) -> None:
    plan = LoadPlan(mix=(KIND,), rate=rate, burst=burst)
    trace = plan.trace(20.0, seed=seed)
    moments = [a.t for a in trace.arrivals]
    assert moments == sorted(moments)
    assert all(0 <= t < 20 for t in moments)
    assert len(moments) % burst == 0
    assert trace == plan.trace(20.0, seed=seed)
    assert all(50 <= a.prompt_tokens <= 90 and 10 <= a.output_tokens <= 30 for a in trace.arrivals)


def test_the_rate_is_the_rate_and_arrivals_are_poisson() -> None:
    moments = np.array([a.t for a in LoadPlan(mix=(KIND,), rate=20).trace(500, seed=3).arrivals])
    assert len(moments) == pytest.approx(10_000, rel=0.04)
    gaps = np.diff(moments)
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.05)


def test_a_ramp_rises() -> None:
    moments = np.array([a.t for a in LoadPlan(mix=(KIND,), rate=2, ramp_to=38).trace(200, seed=1).arrivals])
    assert len(moments) == pytest.approx(20 * 200, rel=0.06)
    first, last = (moments < 50).sum() / 50, (moments >= 150).sum() / 50
    assert first == pytest.approx(2 + 36 / 8, rel=0.2)
    assert last == pytest.approx(2 + 36 * 7 / 8, rel=0.2)
    falling = LoadPlan(mix=(KIND,), rate=38, ramp_to=2).trace(200, seed=1).arrivals
    assert sum(a.t < 100 for a in falling) > 2 * sum(a.t >= 100 for a in falling)


def test_a_recorded_trace_goes_on_where_the_last_block_ended_and_begins_anew() -> None:
    recorded = tuple(Arrival(float(t), 100 + t, 10) for t in range(30))
    plan = LoadPlan(recorded=recorded)
    assert [a.prompt_tokens for a in plan.trace(10, seed=1, start=10).arrivals] == list(range(110, 120))
    again = plan.trace(10, seed=1, start=25).arrivals
    assert [a.prompt_tokens for a in again][:5] == [125, 126, 127, 128, 129]
    assert again[5].prompt_tokens == 100
    fast = LoadPlan(recorded=recorded, speed=2.0)
    assert len(fast.trace(10, seed=1).arrivals) == 20
    assert fast.with_rate(1.0).offered == pytest.approx(1.0)


def test_exactly_one_load_must_be_given() -> None:
    for plan in (LoadPlan(), LoadPlan(rate=1, clients=2), LoadPlan(rate=1, recorded=(Arrival(0, 1, 1),))):
        with pytest.raises(UsageError):
            plan.check()


def test_prompts_share_what_they_should_and_salts_keep_caches_apart() -> None:
    plan = LoadPlan(mix=(LengthClass(1.0, (100, 100), (5, 5), shared_prefix=60),), rate=5)
    trace = plan.trace(10, seed=1)
    one, two = (trace.prompt(trace.arrivals[k], k) for k in (0, 1))
    assert len(one) == len(two) == 100
    assert one[:60] == two[:60]
    assert one[60:] != two[60:]
    other = trace.salted(7).prompt(trace.arrivals[0], 0)
    assert other[:4] != one[:4]
    assert other[4:60] == one[4:60]
    assert trace.prompt(trace.arrivals[0], 0) == one


def test_hash_ids_become_the_same_tokens() -> None:
    a, b = Arrival(0, 1200, 5, hash_ids=(1, 2, 3)), Arrival(1, 700, 5, hash_ids=(1, 9))
    trace = Trace(seconds=2, arrivals=(a, b))
    one, two = trace.prompt(a, 0), trace.prompt(b, 1)
    assert (len(one), len(two)) == (1200, 700)
    assert one[:512] == two[:512]
    assert one[512:600] != two[512:600]
    assert all(10 <= token < 30000 for token in one)


def test_a_closed_loop_never_runs_out_of_requests() -> None:
    trace = LoadPlan(mix=(KIND,), clients=3, think_s=0.5).trace(10, seed=1)
    endless = trace.endless()
    assert [next(endless) for _ in range(10_000)][-1].prompt_tokens >= 50
    assert (trace.clients, trace.think_s) == (3, 0.5)


def test_a_load_is_described() -> None:
    assert "2 requests/s rising to 8" in LoadPlan(rate=2, ramp_to=8).describe()
    assert "4 clients" in LoadPlan(clients=4).describe()
    assert "recorded trace of 1" in LoadPlan(recorded=(Arrival(1.0, 5, 5),)).describe()

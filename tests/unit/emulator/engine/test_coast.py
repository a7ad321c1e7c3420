"""Skipping over runs of equal steps changes nothing; what is made up equals what is spelled out."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whystall.emulator.engine.content import Content, OwnContent, TokenContent
from whystall.emulator.engine.engine import Engine
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile
from whystall.emulator.engine.request import Request
from whystall.emulator.engine.workload import Arrival, LengthClass, Load, Phase

PROFILE = StepProfile(
    name="test",
    floor_s=0.005,
    token_s=3e-5,
    host_s=0.001,
    host_mixed_s=0.01,
    host_eager_s=0.02,
    decode_context_s=3e-8,
    decode_request_s=1e-5,
    mixed_context_s=3e-8,
    pair_s=1e-9,
    max_graph_tokens=256,
    front_s=0.002,
)
COLUMNS = ("end", "gap", "regular", "generated", "prompts", "running", "waiting", "free_blocks", "odd_gap")


def run(options: EngineOptions, phases: list[Phase], seed: int, coasting: bool) -> Engine:
    engine = Engine(options, PROFILE)
    engine.coasting = coasting
    Load(seed).play(engine, phases)
    engine.advance(1e6)
    return engine


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    is_async=st.booleans(),
    caching=st.booleans(),
    blocks=st.integers(70, 400),
    seats=st.integers(1, 24),
    policy=st.sampled_from(["fcfs", "priority"]),
    closed=st.booleans(),
)
def test_skipping_equals_stepping(
    seed: int, is_async: bool, caching: bool, blocks: int, seats: int, policy: str, closed: bool
) -> None:
    options = EngineOptions(
        num_gpu_blocks=blocks,
        max_model_len=1024,
        max_num_seqs=seats,
        max_num_batched_tokens=512,
        enable_prefix_caching=caching,
        scheduling_policy=policy,  # type: ignore[arg-type]
        async_scheduling=is_async,
    )
    mix = (LengthClass(0.7, (10, 300), (1, 120), shared_prefix=64), LengthClass(0.3, (200, 700), (5, 200), priority=1))
    phase = Phase(seconds=6, mix=mix, clients=12, think_s=0.05) if closed else Phase(seconds=6, mix=mix, rate=4)
    skipped, stepped = (run(options, [phase], seed, coasting) for coasting in (True, False))
    for name in COLUMNS:
        assert getattr(skipped.journal, name) == getattr(stepped.journal, name), name
    ends = [[(r.id, r.first_token, r.finished) for r in e.journal.finished] for e in (skipped, stepped)]
    assert ends[0] == ends[1]
    assert skipped.scheduler.pool.free_count == options.num_gpu_blocks - 1  # nothing leaks


@pytest.mark.parametrize("seed", range(12))
def test_made_up_prompts_behave_like_spelled_out_ones(seed: int) -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "golden"))
    from scheduler_scenario import draw

    options = EngineOptions(**draw(seed)["options"])
    rows: list[list[float]] = []
    for spelled in (True, False):
        rng = random.Random(seed)
        engine = Engine(options, PROFILE)
        for number in range(40):
            prompt = rng.randrange(2, options.max_model_len // 2)
            shared = min(rng.choice([0, 0, 24, 80]), prompt)
            output = rng.randrange(1, options.max_model_len // 3)
            own = [rng.randrange(1000, 9000) for _ in range(prompt - shared + output)]
            content: Content = TokenContent([7] * shared + own) if spelled else OwnContent("p", shared)
            arrival = number * 0.02
            engine.submit(Request(number, prompt, output, content, arrival=arrival, priority=rng.randrange(3)))
        engine.advance(1e6)
        rows.append([*engine.journal.end, *engine.journal.free_blocks, engine.scheduler.prefix_hits])
    assert rows[0] == rows[1]


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), is_async=st.booleans(), blocks=st.integers(70, 300), policy=st.booleans())
def test_skipping_equals_stepping_where_clients_go_answers_stop_early_and_the_engine_stalls(
    seed: int, is_async: bool, blocks: int, policy: bool
) -> None:
    options = EngineOptions(
        num_gpu_blocks=blocks,
        max_model_len=1024,
        max_num_seqs=14,
        max_num_batched_tokens=512,
        scheduling_policy="priority" if policy else "fcfs",
        async_scheduling=is_async,
    )
    mix = (LengthClass(0.6, (10, 300), (1, 120)), LengthClass(0.4, (200, 700), (5, 200), priority=1))
    phases = [Phase(seconds=3, mix=mix, clients=12), Phase(seconds=3, mix=mix, clients=20, think_s=0.05)]
    rows = [_interrupted(options, phases, seed, coasting) for coasting in (True, False)]
    assert rows[0] == rows[1]
    assert min(rows[0][COLUMNS.index("regular")]) >= 0


def _interrupted(options: EngineOptions, phases: list[Phase], seed: int, coasting: bool) -> list[list[float]]:
    """Clients that leave at each phase's end, every third answer ends by itself, a stall in between."""
    engine = Engine(options, PROFILE)
    engine.coasting = coasting
    engine.on_submit.append(lambda r: setattr(r, "max_tokens", r.output_tokens + 40 * (r.id % 3 == 0)))
    load = Load(seed)
    load.play(engine, phases)
    load.trace(engine, [Arrival(0.01 * n, 80, 150) for n in range(8)], engine.now)
    engine.advance(engine.now + 0.4)
    engine.pause += 0.3
    engine.advance(1e6)
    pool = engine.scheduler.pool
    assert pool.free_count == options.num_gpu_blocks - 1
    return [*(getattr(engine.journal, name) for name in COLUMNS), list(map(float, pool.take(pool.free_count)))]


def test_a_run_is_the_same_every_time() -> None:
    options = EngineOptions(num_gpu_blocks=200, max_model_len=1024, max_num_seqs=16)
    phases = [Phase(seconds=30, mix=(LengthClass(1, (50, 500), (20, 100)),), rate=3, burst=2)]
    assert run(options, phases, 5, True).journal.end == run(options, phases, 5, True).journal.end
    assert run(options, phases, 5, True).journal.end != run(options, phases, 6, True).journal.end


def test_admission_control_counts_running_requests_too() -> None:
    options = EngineOptions(num_gpu_blocks=2000, max_num_queued_reqs=6)
    engine = Engine(options, PROFILE)
    load = Load(1)
    load.trace(engine, [Arrival(0.0, 100, 50)] * 10, 0.0)
    engine.advance(1.0)
    assert len(engine.journal.rejected) == 4
    assert max(engine.journal.running) == 6


@pytest.mark.parametrize("is_async", [True, False])
def test_what_a_client_was_given_never_shrinks_and_ends_complete(is_async: bool) -> None:
    options = EngineOptions(num_gpu_blocks=60, max_model_len=512, max_num_seqs=8, async_scheduling=is_async)
    engine = Engine(options, PROFILE)
    requests = [Request(n, 60 + n, 100, OwnContent(), arrival=0.02 * n) for n in range(12)]
    for request in requests:
        engine.submit(request)
    given = [0] * len(requests)
    for tick in range(8000):
        engine.advance(tick * 0.001)
        now = [engine.scheduler.outputs(r) if r.queued == r.queued else 0 for r in requests]
        assert all(b >= a for a, b in zip(given, now, strict=True))
        given = now
    assert given == [100] * 12
    assert sum(r.preemptions for r in requests) > 0

"""Each fault changes a mechanism, and what the page shows changes with it."""

from __future__ import annotations

import pytest

from emulated import START, total
from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.workload import LengthClass
from whystall.emulator.profiles import load_profile
from whystall.emulator.server.deployment import Deployment, Serving
from whystall.emulator.server.faults import FAULTS, WITHOUT, inject, parse_fault, prepared
from whystall.emulator.server.traffic import TrafficPlan
from whystall.errors import UsageError


def run(fault: str = "", seconds: float = 60, **changes: object) -> Deployment:
    options = EngineOptions(num_gpu_blocks=20000, max_num_seqs=1024, async_scheduling=True)
    plan = TrafficPlan(mix=(LengthClass(1.0, (400, 800), (100, 200)),), rate=8)
    serving = Serving(**{"options": options, "profile": load_profile("h200-8b"), "traffic": plan, **changes})
    planned = [parse_fault(fault)] if fault else []
    server = Deployment(prepared(serving, planned), start=START)
    for each in planned:
        inject(server, each)
    server.advance(START + seconds)
    return server


def mean(page: str, name: str) -> float:
    return total(page, f"{name}_sum") / total(page, f"{name}_count")


@pytest.fixture(scope="module")
def healthy() -> str:
    return run().page()


@pytest.mark.parametrize(
    ("fault", "name", "at_least"),
    [
        ("engine_loop_cpu", "vllm:inter_token_latency_seconds", 2.0),
        ("launch_bound", "vllm:inter_token_latency_seconds", 2.0),
        ("gpu_throttle", "vllm:inter_token_latency_seconds", 1.3),
        ("decode_bandwidth", "vllm:inter_token_latency_seconds", 2.5),
        ("straggler_rank", "vllm:inter_token_latency_seconds", 2.5),
        ("comm_bound", "vllm:inter_token_latency_seconds", 1.5),
        ("slow_kernel", "vllm:inter_token_latency_seconds", 1.3),
        ("sampler_cpu", "vllm:inter_token_latency_seconds", 1.2),
        ("kv_offload_stall", "vllm:inter_token_latency_seconds", 1.1),
        ("frontend_cpu", "vllm:time_to_first_token_seconds", 3.0),
        ("multimodal_preprocessing", "vllm:time_to_first_token_seconds", 3.0),
        ("cpu_starved", "vllm:time_to_first_token_seconds", 3.0),
        ("structured_output", "vllm:request_queue_time_seconds", 100.0),
        ("seat_cap", "vllm:request_queue_time_seconds", 100.0),
        ("kv_capacity", "vllm:request_queue_time_seconds", 100.0),
        ("burst", "vllm:time_to_first_token_seconds", 2.0),
        ("longer_prompts", "vllm:request_prompt_tokens", 3.0),
        ("longer_outputs", "vllm:request_generation_tokens", 1.5),
        ("gc_pause", "vllm:time_to_first_token_seconds", 1.3),
        ("jit_compile", "vllm:time_to_first_token_seconds", 1.3),
    ],
)
def test_a_fault_shows_where_it_should(healthy: str, fault: str, name: str, at_least: float) -> None:
    page = run(fault).page()
    assert mean(page, name) >= at_least * max(mean(healthy, name), 1e-6)


def test_a_healthy_server_does_not_wait(healthy: str) -> None:
    assert mean(healthy, "vllm:request_queue_time_seconds") < 1e-3
    assert total(healthy, "vllm:num_preemptions_total") == 0


def test_a_small_pool_preempts() -> None:
    assert total(run("kv_capacity@10", 90).page(), "vllm:num_preemptions_total") > 10


def test_a_queue_limit_refuses_and_counts() -> None:
    page = run("queue_limit").page()
    assert total(page, "vllm:admission_rejections_total") > 20
    assert total(page, "http_requests_total") > total(page, "vllm:request_success_total")


def test_the_moment_of_a_fault_is_its_own() -> None:
    before, after = run("engine_loop_cpu@40", 39).page(), run("engine_loop_cpu@40", 80).page()
    assert mean(before, "vllm:inter_token_latency_seconds") < 0.008
    assert mean(after, "vllm:inter_token_latency_seconds") > 0.01


def test_a_dead_engine_is_not_healthy_and_says_so() -> None:
    server = run("engine_dead@20")
    assert not server.alive
    assert any("EngineCore encountered a fatal error." in line for line in server.log.recent)


def test_a_hung_engine_holds_its_requests() -> None:
    first, second = run("engine_hang@20", 25), run("engine_hang@20", 60)
    tokens = [total(d.page(), "vllm:generation_tokens_total") for d in (first, second)]
    assert tokens[0] == tokens[1] > 0
    assert total(second.page(), "vllm:num_requests_running") > 0


def test_a_restart_begins_the_counters_anew() -> None:
    server = run("config_regression@40", 120)
    assert server.start > START
    assert total(server.page(), "vllm:request_success_total") < 8 * 60


def test_an_unbalanced_balancer_fills_one_replica() -> None:
    server = run("replica_imbalance", replicas=2)
    loads = [len(r.engine.scheduler.running) + len(r.engine.scheduler.waiting) for r in server.replicas]
    assert loads[0] > 3 * max(loads[1], 1)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_can_be_set_at_the_start_and_at_a_moment(fault: str) -> None:
    for text in (fault, f"{fault}@5*0.5"):
        server = run(text, 12, replicas=2)
        assert server.page().startswith("# HELP")


@pytest.mark.parametrize("text", ["nothing", "seat_cap@x", "seat_cap@-1", "seat_cap*0", "seat_cap*99", *WITHOUT])
def test_a_fault_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError):
        parse_fault(text)


def test_a_load_that_grew_is_there_once_after_a_restart() -> None:
    server = run("overload@5", seconds=10)
    rate = server.traffic.plan.rate
    server.restart(server.serving, server.now)
    assert FAULTS["overload"].outlives_restart
    assert server.traffic.plan.rate == rate == 40


@pytest.mark.parametrize("fault", sorted(name for name, fault in FAULTS.items() if name.endswith("_cpu")))
def test_slow_steps_are_gone_after_a_restart(fault: str) -> None:
    assert not FAULTS[fault].outlives_restart

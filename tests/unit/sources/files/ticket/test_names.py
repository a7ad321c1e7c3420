"""What a field's name means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.sources.files.ticket.names import name_of


@pytest.mark.parametrize(
    ("key", "quantity", "statistic", "scale", "words"),
    [
        ("ttft_p99_before_ms", "ttft", "p99", 1e-3, ("before",)),
        ("tps_without_lora", "generation_tps", "", 1.0, ("without", "lora")),
        ("kv_cache_usage_pct", "kv_usage", "", 0.01, ()),
        ("vllm:num_requests_running", "running", "", 1.0, ("vllm",)),
        ("req_s", "rate", "", 1.0, ()),
        ("requests_per_second", "rate", "", 1.0, ()),
        ("queue_ms", "queue", "", 1e-3, ()),
        ("queue_depth", "waiting", "", 1.0, ()),
        ("acceptance_rate", "accept_ratio", "", 1.0, ()),
        ("sm_active_pct", "gpu_util", "", 0.01, ()),
        ("step_time_ms", "itl", "", 1e-3, ()),
        ("preemptions_per_s", "preemption_rate", "", 1.0, ()),
        ("stall_min", "stall", "", 60.0, ()),
        ("power_cap_active", "power_capped", "", 1.0, ()),
        ("tpot_ratio", "tpot", "", 0.0, ()),
        ("target_ttft_s", "", "", 1.0, ("target", "ttft", "s")),
    ],
)
def test_parts_of_a_name(key, quantity, statistic, scale, words):
    found = name_of(key)
    assert (found.quantity, found.statistic, found.scale) == (quantity, statistic, scale)
    assert found.words == words or not found.quantity


def test_a_concurrency_in_the_name():
    assert name_of("c16_p99_ms").in_flight == 16
    assert name_of("single_request_tps").in_flight == 1


@given(st.text(max_size=200))
def test_any_name_is_taken_apart(key):
    assert name_of(key).scale >= 0

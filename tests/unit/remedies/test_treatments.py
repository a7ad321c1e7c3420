"""What is offered for each cause, with which value, and when it is not."""

import msgspec
import pytest

from situations import GIB, changes, gpu, names, offered, phase, server
from whystall.model.configuration import Configuration, SettingShift
from whystall.remedies.treatments import treatments

SLOW = (phase(running=200, waiting=60, kv=0.5),)


def test_seats_for_what_waits():
    assert changes(server(limits={"max_num_seqs": 16}), "seat_cap") == [{"--max-num-seqs": "56"}]


def test_seats_no_more_than_the_pool_holds():
    tight = server(limits={"max_num_seqs": 16}, phases=(phase(kv=0.5),))
    assert changes(tight, "seat_cap") == [{"--max-num-seqs": "28"}]  # 0.9 of twice the sequences that fill half
    assert "add.replicas" in names(tight, "seat_cap")


def test_seats_no_more_than_the_budget():
    small = server(limits={"max_num_seqs": 16, "max_num_batched_tokens": 32}, flags={"max_num_batched_tokens": "32"})
    assert changes(small, "seat_cap") == [{"--max-num-seqs": "32"}]


def test_no_seats_where_the_pool_is_full():
    assert changes(server(limits={"max_num_seqs": 16}, phases=(phase(kv=0.95),)), "seat_cap") == []


def test_active_seats_where_they_bind():
    capped = server(version="0.32.0", limits={"max_num_active_seqs": 16}, flags={"max_num_active_seqs": "16"})
    assert changes(capped, "seat_cap") == [{"--max-num-active-seqs": "56"}]


def test_the_override_goes_before_anything_else():
    state = server(flags={"num_gpu_blocks_override": "10000"}, kv_cache_bytes=20 * GIB)
    assert changes(gpu(state, 40), "kv_capacity") == [{"--num-gpu-blocks-override": ""}]
    assert "54,400 blocks in place of 10,000" in offered(gpu(state, 40), "kv_capacity")[0].buys.en


def test_a_higher_share_where_memory_is_free():
    small = gpu(server(limits={"gpu_memory_utilization": 0.5}, kv_cache_bytes=20 * GIB), 70)
    assert changes(small, "kv_capacity")[0] == {"--gpu-memory-utilization": "0.95"}
    full = gpu(server(kv_cache_bytes=100 * GIB), 139)
    assert {"--gpu-memory-utilization": "0.95"} not in changes(full, "kv_capacity")


def test_a_share_of_95_percent_is_not_raised():
    high = gpu(server(limits={"gpu_memory_utilization": 0.95}, kv_cache_bytes=10 * GIB), 100)
    assert not any("--gpu-memory-utilization" in change for change in changes(high, "kv_capacity"))


def test_a_pool_asked_for_in_bytes_grows_in_bytes():
    state = gpu(server(flags={"kv_cache_memory_bytes": str(20 * 2**30)}, kv_cache_bytes=20 * GIB), 40)
    (bytes_,) = [c["--kv-cache-memory-bytes"] for c in changes(state, "kv_capacity") if "--kv-cache-memory-bytes" in c]
    assert int(bytes_) == 116 * 2**30  # all that is free less four


@pytest.mark.parametrize(
    ("offered_", "configured"),
    [
        (True, {}),
        (True, {"kv_cache_dtype": "auto"}),
        (False, {"kv_cache_dtype": "fp8"}),
        (False, {"dtype": "float32"}),
        (False, {"device": "cpu", "gpu_name": ""}),
        (False, {"gpu_name": "NVIDIA A100-SXM4-80GB"}),
        (False, {"quantization": "fp8"}),
        (False, {"flags": {"attention_backend": "FLASH_ATTN"}}),
        (False, {"flags": {"num_gpu_blocks_override": "10000"}}),
    ],
)
def test_fp8_where_the_cache_is_16_bit_and_the_gpu_can(offered_, configured):
    assert ({"--kv-cache-dtype": "fp8"} in changes(server(**configured), "kv_capacity")) is offered_


def test_fewer_seats_only_where_work_is_thrown_away():
    assert not any("--max-num-seqs" in change for change in changes(server(), "kv_capacity"))
    thrash = server(limits={"num_gpu_blocks": 400}, phases=(phase(kv=0.95, preemptions=4),))
    found = [remedy for remedy in offered(thrash, "kv_capacity") if "--max-num-seqs" in remedy.change]
    assert [(r.change, r.aim) for r in found] == [({"--max-num-seqs": "10"}, "stop_bleeding")]
    assert not any("lower max_num_seqs" in n.claim.en for r in offered(thrash, "kv_capacity") for n in r.not_offered)


def test_refusing_by_flag_or_by_gateway():
    new, old = (server(version=version) for version in ("0.32.0", "0.26.0"))
    assert {"--max-num-queued-reqs": "24"} in changes(new, "overload")
    assert "gateway.limit" in names(old, "overload")
    assert "gateway.limit" not in names(new, "overload")


def test_a_limit_of_the_queue_holds_for_all_ranks_together():
    two = server(version="0.32.0", data_parallel=2)
    assert {"--max-num-queued-reqs": "48"} in changes(two, "overload")


def test_replicas_for_the_rate_that_comes():
    growing = tuple(phase(seconds=1, waiting=8 * second) for second in range(30))
    assert "about 3 where one is now" in offered(server(phases=growing), "overload")[0].text.en


def test_a_queue_limit_is_raised_to_what_was_refused():
    refused = phase(running=6, waiting=0, refused=8, itl_ms=20, kv=0.02)
    limited = server(version="0.32.0", limits={"max_num_queued_reqs": 6}, phases=(refused,))
    (change,) = changes(limited, "queue_limit")
    # 16 a second x 2 s each, and half again.
    assert 40 <= int(change["--max-num-queued-reqs"]) <= 56
    assert offered(limited, "queue_limit")[0].aim == "fix"


def test_a_queue_limit_over_a_full_pool_only_moves_the_wait():
    refused = phase(running=6, waiting=0, refused=8, itl_ms=20, kv=0.9)
    limited = server(version="0.32.0", limits={"max_num_queued_reqs": 6}, phases=(refused,))
    assert offered(limited, "queue_limit")[0].aim == "stop_bleeding"
    assert "add.replicas" in names(limited, "queue_limit")


def test_a_queue_limit_in_tokens_is_lifted():
    limited = server(version="0.32.0", flags={"max_num_queued_tokens": "4096"})
    assert {"--max-num-queued-tokens": ""} in changes(limited, "queue_limit")


@pytest.mark.parametrize(("budget", "value"), [(256, "2048"), (512, "2048"), (2048, "8192"), (4096, "8192")])
def test_a_larger_budget_up_to_the_gemms_saturation(budget, value):
    state = server(limits={"max_num_batched_tokens": budget})
    assert changes(state, "token_budget") == [{"--max-num-batched-tokens": value}]


def test_a_saturated_budget_is_left_alone():
    assert changes(server(limits={"max_num_batched_tokens": 8192}), "token_budget") == []
    assert names(server(limits={"max_num_batched_tokens": 8192}), "token_budget") == ["add.replicas"]


def test_a_scheduled_budget_that_binds_is_the_one_to_raise():
    state = server(
        version="0.32.0", limits={"max_num_scheduled_tokens": 512}, flags={"max_num_scheduled_tokens": "512"}
    )
    assert changes(state, "token_budget") == [{"--max-num-scheduled-tokens": "2048"}]


def test_prefill_with_a_small_budget_gets_a_larger_one():
    state = server(limits={"max_num_batched_tokens": 512})
    assert changes(state, "prefill_bound", budget_full=(1.0, 1.0)) == [{"--max-num-batched-tokens": "2048"}]
    assert changes(state, "prefill_bound", budget_full=(0.2, -1.0)) == []
    assert changes(server(limits={"max_num_batched_tokens": 8192}), "prefill_bound", budget_full=(1.0, 1.0)) == []


@pytest.mark.parametrize("cause", ["prefill_bound", "token_budget", "prefix_cache_loss", "prefill_interference"])
def test_prefix_caching_that_was_switched_off(cause):
    off = server(flags={"enable_prefix_caching": "False"}, prefix_caching=False)
    assert {"--no-enable-prefix-caching": ""} in changes(off, cause)
    assert {"--no-enable-prefix-caching": ""} not in changes(server(prefix_caching=True), cause)


def test_steps_of_a_tenth_of_a_second():
    # 8 x 500 tokens a second in a fifth of the time: 20,000 a second.
    state = server(limits={"max_num_batched_tokens": 16_384})
    found = changes(state, "prefill_interference", prefill_busy=(0.2, 1.0))
    assert found == [{"--max-num-batched-tokens": "2048"}, {"--long-prefill-token-threshold": "512"}]


def test_chunks_before_a_smaller_budget():
    whole = server(
        limits={"max_num_batched_tokens": 16_384},
        flags={"enable_chunked_prefill": "False", "max_num_batched_tokens": "16384"},
        chunked_prefill=False,
    )
    both = {"--no-enable-chunked-prefill": "", "--max-num-batched-tokens": "2048"}
    assert changes(whole, "prefill_interference")[0] == both
    undo = offered(whole, "prefill_interference")[0].undo.en
    assert undo == "Start again with --no-enable-chunked-prefill and with --max-num-batched-tokens 16384"


def test_a_budget_keeps_room_for_seats_that_were_set():
    state = server(limits={"max_num_batched_tokens": 16_384, "max_num_seqs": 4000}, flags={"max_num_seqs": "4000"})
    assert changes(state, "prefill_interference")[0] == {"--max-num-batched-tokens": "4096"}


def test_a_giants_chunk_is_capped_once():
    assert changes(server(), "head_of_line_prompt")[0] == {"--long-prefill-token-threshold": "512"}
    capped = server(flags={"long_prefill_token_threshold": "256"}, limits={"long_prefill_token_threshold": 256})
    assert not any("--long-prefill-token-threshold" in change for change in changes(capped, "head_of_line_prompt"))
    small = server(flags={"num_gpu_blocks_override": "1900"}, limits={"num_gpu_blocks": 1900})
    assert changes(small, "head_of_line_prompt")[0] == {"--num-gpu-blocks-override": ""}


@pytest.mark.parametrize(
    ("flags", "configured", "change"),
    [
        ({"enforce_eager": "True"}, {"enforce_eager": True}, {"--enforce-eager": ""}),
        ({"cudagraph_mode": "NONE"}, {}, {"-cc.cudagraph_mode": ""}),
        ({"optimization_level": "0"}, {}, {"--optimization-level": ""}),
        ({}, {"max_graph_batch": 64}, {"--max-cudagraph-capture-size": "208"}),
    ],
)
def test_graphs_come_back(flags, configured, change):
    assert changes(server(flags=flags, phases=SLOW, **configured), "launch_bound") == [change]


def test_a_cpu_has_no_graphs():
    eager = server(device="cpu", flags={"enforce_eager": "True"}, enforce_eager=True)
    assert names(eager, "launch_bound") == ["launch_bound"]  # what the catalogue says


def test_more_api_processes_and_larger_pieces():
    found = changes(server(phases=(phase(api_cores=1.0),)), "frontend_cpu")
    assert found == [{"--api-server-count": "2"}, {"--stream-interval": "4"}]
    logging = server(version="0.32.0", flags={"enable_log_requests": "True"})
    assert changes(logging, "frontend_cpu")[0] == {"--enable-log-requests": ""}


def test_async_scheduling_where_it_is_off():
    off = server(flags={"async_scheduling": "False"}, async_scheduling=False)
    assert changes(off, "engine_loop_cpu") == [{"--no-async-scheduling": ""}]
    assert changes(server(version="0.12.0"), "engine_loop_cpu") == [{"--async-scheduling": "true"}]
    assert changes(server(version="0.26.0", async_scheduling=True), "engine_loop_cpu") == []


def test_memory_is_given_back_where_it_ran_out():
    assert changes(server(), "oom")[0] == {"--gpu-memory-utilization": "0.87"}
    asked = server(flags={"kv_cache_memory_bytes": "1000000"})
    assert changes(asked, "oom")[0] == {"--kv-cache-memory-bytes": "900000"}


def test_slots_for_adapters():
    assert changes(server(flags={"enable_lora": "True", "max_loras": "2"}), "lora_swapping") == [{"--max-loras": "4"}]


@pytest.mark.parametrize("cause", sorted(treatments()))
def test_every_treatment_copes_with_a_server_that_tells_nothing(cause):
    bare = msgspec.structs.replace(server(), configuration=Configuration(), limits=())
    for remedy in offered(bare, cause):
        assert remedy.text.en
        assert remedy.text.zh != remedy.text.en
        assert "nan" not in (remedy.text.en + remedy.buys.en + remedy.undo.en).split()


@pytest.mark.parametrize(
    ("cause", "kinds"),
    [
        ("cpu_starved", {"host"}),
        ("gpu_throttle", {"host", "gateway"}),
        ("burst", {"client"}),
        ("longer_prompts", {"client"}),
        ("longer_outputs", {"client"}),
        ("observability_overhead", {"operation"}),
        ("gc_pause", {"version", "operation"}),
    ],
)
def test_what_no_flag_treats_changes_no_flag(cause, kinds):
    found = offered(server(), cause)
    assert {remedy.kind for remedy in found} == kinds
    assert all(not remedy.change and not remedy.restart for remedy in found)


def test_a_device_at_its_ceiling_gains_little_from_a_larger_budget():
    small = server(limits={"max_num_batched_tokens": 512})
    full = {"budget_full": (1.0, 1.0), "prefill_busy": (0.9, 1.0)}
    slack = offered(small, "prefill_bound", **full)
    assert slack[0].change == {"--max-num-batched-tokens": "2048"}
    spent = offered(small, "prefill_bound", **full, prefill_ceiling=(0.5, 1.2))
    assert spent[0].id == "prefill_bound.add.replicas"
    assert spent[-1].change == {"--max-num-batched-tokens": "2048"}
    assert "at most about 20%" in spent[-1].buys.en


@pytest.mark.parametrize("cause", ["prefill_bound", "prefill_interference"])
def test_a_prefix_cache_that_may_find_nothing_is_no_first_step(cause):
    state = server(flags={"enable_prefix_caching": "false"})
    found = names(state, cause)
    assert found
    assert found[0] != "without.enable_prefix_caching"
    buys = [r.buys.en for r in offered(state, cause) if "prefix" in r.buys.en]
    assert buys
    assert "if the prompts share any" in buys[0]


def test_an_override_of_the_blocks_is_known_from_the_page_alone():
    """A live server without its log: the page's cache_config_info has the label, "None" where nobody set it."""
    shown = server(limits={"num_gpu_blocks_override": 2500})
    unseen = msgspec.structs.replace(shown.configuration, flags={})
    state = msgspec.structs.replace(shown, configuration=unseen)
    assert offered(state, "kv_capacity")[0].change == {"--num-gpu-blocks-override": ""}
    plain = msgspec.structs.replace(unseen, limits=tuple(x for x in unseen.limits if "override" not in x.name))
    other = offered(msgspec.structs.replace(shown, configuration=plain), "kv_capacity")
    assert {"--num-gpu-blocks-override": ""} not in [remedy.change for remedy in other]


def test_a_small_cache_of_prepared_media_goes_first():
    small = server(version="0.32.0", flags={"mm_processor_cache_gb": "0.2"})
    assert changes(small, "multimodal_preprocessing") == [{"--mm-processor-cache-gb": ""}, {"--api-server-count": "2"}]
    assert "3.8 GiB" in offered(small, "multimodal_preprocessing")[0].risk.en
    large = server(version="0.32.0", flags={"mm_processor_cache_gb": "8"})
    assert changes(large, "multimodal_preprocessing") == [{"--api-server-count": "2"}]


def test_vllms_own_all_reduce_where_it_is_off():
    off = server(flags={"disable_custom_all_reduce": "True"})
    assert changes(off, "comm_bound") == [{"--disable-custom-all-reduce": ""}]
    assert changes(server(), "comm_bound") == []
    assert names(server(), "comm_bound") == ["host.links", "fewer.gpus"]


def test_a_profiler_is_taken_away_where_one_is_set():
    profiled = server(version="0.32.0", flags={"profiler_config": '{"profiler": "torch"}'})
    assert changes(profiled, "observability_overhead") == [{"--profiler-config": ""}]


def restarted(flags, *shifts):
    state = server(flags=flags, limits={"max_num_seqs": 8})
    return msgspec.structs.replace(state, shifts=tuple(SettingShift(*shift, 0.0) for shift in shifts))


def test_all_that_a_restart_changed_goes_back_at_once():
    state = restarted(
        {"max_num_seqs": "8", "enable_prefix_caching": "False", "max_num_batched_tokens": "512"},
        ("max_num_seqs", None, "8"),
        ("enable_prefix_caching", None, "False"),
        ("max_num_batched_tokens", "4096", "512"),
        ("num_gpu_blocks", "9000", "9900"),  # what follows of the others
        ("uvicorn_log_level", "info", "debug"),
    )
    first, *rest = offered(state, "seat_cap", "config_regression")
    assert first.id == "config_regression.back"
    back = {"--max-num-seqs": "", "--no-enable-prefix-caching": "", "--max-num-batched-tokens": "4096"}
    assert first.change == back
    assert "without --no-enable-prefix-caching" in first.text.en
    assert "with --max-num-seqs 8" in first.undo.en
    assert not any("--max-num-seqs" in remedy.change for remedy in rest)  # no third value of the same flag


def test_nothing_goes_back_where_no_flag_is_known_to_have_changed():
    assert changes(restarted({}, ("num_gpu_blocks", "9000", "9900")), "config_regression") == []
    assert changes(restarted({}), "config_regression") == []

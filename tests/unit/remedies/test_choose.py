"""What is offered is known to the version, not there yet, and lets the server start."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from situations import changes, diagnosis, gpu, names, offered, server
from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Limit
from whystall.remedies.choose import not_offered, remedies
from whystall.remedies.knobs import knob_of, knobs
from whystall.remedies.rules import may_start
from whystall.remedies.treatments import treatments
from whystall.remedies.version import numbers, within

VERSIONS = (
    "", "0.5.0", "0.6.6", "0.8.5", "0.9.1", "0.10.0", "0.10.2", "0.11.2", "0.12.0", "0.13.0", "0.14.1", "0.17.1",
    "0.19.1", "0.24.0", "0.26.0", "0.28.0", "0.29.0", "0.31.0", "0.32.0", "0.40.0",
)  # fmt: skip


def test_a_healthy_server_is_left_alone():
    healthy = msgspec.structs.replace(diagnosis("seat_cap"), verdict="healthy", remedies=())
    assert remedies(healthy, server()) == ()


def test_the_surest_cause_comes_first_and_nothing_twice():
    found = names(server(limits={"max_num_batched_tokens": 8192}), "overload", "prefill_bound")
    assert found == ["add.replicas", "gateway.limit", "client.prefix"]


def test_a_flag_is_not_moved_two_ways():
    state = server(limits={"max_num_batched_tokens": 4096})
    both = changes(state, "token_budget", "prefill_interference")
    assert {"--max-num-batched-tokens": "8192"} in both
    assert {"--max-num-batched-tokens": "2048"} not in both


def test_a_cause_that_nothing_treats_keeps_what_the_catalogue_says():
    (kept,) = offered(server(), "gpu_fault")
    assert (kept.id, kept.text.en, kept.kind) == ("first_step.gpu_fault", "Look.", "operation")


def test_the_way_back_is_the_value_that_stood_there():
    was_set = offered(server(limits={"max_num_seqs": 16}, flags={"max_num_seqs": "16"}), "seat_cap")[0]
    assert was_set.undo.en == "Start again with --max-num-seqs 16"
    was_not = offered(server(limits={"max_num_seqs": 16}, defaults=("max_num_seqs",)), "seat_cap")[0]
    assert was_not.undo.en == "Start again without --max-num-seqs"
    assert was_not.undo.zh == "去掉 --max-num-seqs 重新启动"


def test_an_inferred_limit_is_the_value_to_go_back_to():
    state = server(limits={"max_num_seqs": 16})
    bare = msgspec.structs.replace(state, configuration=Configuration(version="0.26.0"))
    (first,) = [remedy for remedy in offered(bare, "seat_cap") if remedy.change]
    assert first.text.en == "Raise --max-num-seqs from 16 to 56"
    assert first.undo.en == "Start again with --max-num-seqs 16"
    unknown = offered(bare, "frontend_cpu")[1]
    assert unknown.undo.en.startswith("Start again with the value that stood there before")


def test_eager_execution_that_is_reported_was_set_by_somebody():
    bare = msgspec.structs.replace(
        server(), configuration=Configuration(version="0.26.0", device="cuda", enforce_eager=True)
    )
    assert changes(bare, "launch_bound") == [{"--enforce-eager": ""}]


def test_folk_remedies_are_answered():
    against = {one.claim.en for one in offered(server(), "kv_capacity")[0].not_offered}
    assert {"halve max_num_batched_tokens", "raise swap_space"} <= against
    assert "lower max_num_seqs to shorten the queue" in {one.claim.en for one in not_offered("seat_cap")}
    assert not_offered("seat_cap", knobs()) == ()


def test_a_version_newer_than_the_tables_is_said():
    state = server(version="0.40.0", limits={"max_num_seqs": 16})
    assert "newer than our tables (vLLM 0.32)" in offered(state, "seat_cap")[0].risk.en
    assert "newer" not in offered(server(limits={"max_num_seqs": 16}), "seat_cap")[0].risk.en


def test_an_unknown_version_gets_only_flags_that_all_have():
    state = server(version="", limits={"max_num_seqs": 16})
    assert changes(state, "seat_cap") == [{"--max-num-seqs": "56"}]
    assert changes(state, "frontend_cpu") == []


NUMBER = st.sampled_from(["1", "16", "512", "2048", "8192", "40000"])
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "max_num_seqs": NUMBER,
        "max_num_batched_tokens": NUMBER,
        "max_num_scheduled_tokens": NUMBER,
        "max_num_active_seqs": NUMBER,
        "max_num_queued_reqs": NUMBER,
        "long_prefill_token_threshold": NUMBER,
        "num_gpu_blocks_override": NUMBER,
        "kv_cache_memory_bytes": st.just("1000000000"),
        "gpu_memory_utilization": st.sampled_from(["0.3", "0.92", "0.95", "1.0"]),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8"]),
        "enable_chunked_prefill": st.sampled_from(["True", "False"]),
        "enable_prefix_caching": st.sampled_from(["True", "False"]),
        "async_scheduling": st.sampled_from(["True", "False"]),
        "enforce_eager": st.sampled_from(["True", "False"]),
        "distributed_executor_backend": st.just("ray"),
        "enable_lora": st.just("True"),
        "max_loras": NUMBER,
        "max_cpu_loras": NUMBER,
        "stream_interval": st.sampled_from(["1", "4"]),
        "scheduling_policy": st.sampled_from(["fcfs", "priority"]),
    },
)
STATE = gpu(server(), 80)


def started(version, flags, device, lengths):
    """The state of a server that was started so; what its flags say is what it reports."""
    usual = {"max_num_seqs": "256", "max_num_batched_tokens": "2048", "gpu_memory_utilization": "0.92"}
    limits = {"num_gpu_blocks": 10_000.0, "block_size": 16.0, "max_model_len": lengths}
    limits |= {name: float(flags.get(name, value)) for name, value in usual.items()}
    extra = ("max_num_scheduled_tokens", "max_num_active_seqs", "max_num_queued_reqs", "long_prefill_token_threshold")
    limits |= {name: float(flags[name]) for name in extra if name in flags}
    known = tuple(Limit(name, value, "reported") for name, value in limits.items())
    configuration = msgspec.structs.replace(
        STATE.configuration,
        version=version,
        flags={"model": "m", **flags} if flags is not None else {},
        limits=known,
        device=device,
        kv_cache_bytes=20 * 2.0**30,
        kv_cache_dtype=flags.get("kv_cache_dtype", "auto"),
        chunked_prefill=None if "enable_chunked_prefill" not in flags else flags["enable_chunked_prefill"] == "True",
    )
    return msgspec.structs.replace(STATE, configuration=configuration, limits=known)


@settings(max_examples=300)
@given(
    st.sampled_from(VERSIONS),
    SETTINGS,
    st.sampled_from(["cuda", "rocm", "cpu", ""]),
    st.sampled_from([1024.0, 16_384.0, 131_072.0]),
    st.lists(st.sampled_from(sorted(treatments())), min_size=1, max_size=3, unique=True),
)
def test_nothing_is_offered_that_the_version_lacks_or_that_keeps_it_from_starting(
    version, flags, device, lengths, causes
):
    state = started(version, flags, device, lengths)
    moved = {}
    for remedy in offered(state, *causes, budget_full=(1.0, 1.0), prefill_busy=(0.5, 1.0)):
        assert may_start(state.configuration, remedy.change) == ()
        assert remedy.effect == {}
        for flag, value in remedy.change.items():
            knob = knob_of(flag)
            assert knob.group != "removed"
            spelled = [one for one in knob.spellings if flag in (one.flag, one.off)]
            assert all(within(numbers(version), one.since, one.until) for one in spelled)
            assert value or knob.id in flags
            assert not value or flags.get(knob.id) != value
            assert moved.setdefault(flag, value) == value
            assert remedy.undo.en

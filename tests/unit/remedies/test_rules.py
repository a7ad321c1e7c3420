import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Limit
from whystall.remedies.knobs import knobs
from whystall.remedies.rules import bounds, is_set, may_start, spelling, spelling_off

RUNNING = {"max_num_seqs": 256, "max_num_batched_tokens": 8192, "max_model_len": 16_384}
RUNNING |= {"num_gpu_blocks": 10_000, "block_size": 16}


def server(version="0.32.0", known="reported", chunked=True, **flags):
    limits = tuple(Limit(name, float(flags.get(name, value)), known) for name, value in RUNNING.items())
    return Configuration(
        version=version, flags={"model": "m", **flags}, limits=limits, chunked_prefill=chunked, kv_cache_bytes=1e9
    )


def rules(configuration, changes, **facts):
    return [refusal.rule for refusal in may_start(configuration, changes, facts)]


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"--max-num-seqs": "9000"}, ["budget_holds_seats"]),
        ({"--max-num-seqs": "512"}, []),
        ({"--max-num-batched-tokens": "128"}, []),  # seats that nobody set shrink with it
        ({"--max-num-batched-tokens": "128", "--max-num-seqs": "256"}, ["budget_holds_seats"]),
        ({"--no-enable-chunked-prefill": "true", "--max-num-batched-tokens": "8192"}, ["budget_holds_prompt"]),
        ({"--no-enable-chunked-prefill": "true"}, []),  # the budget that nobody set grows with it
        ({"--no-enable-chunked-prefill": "true", "--max-num-batched-tokens": "16384"}, []),
        ({"--max-num-scheduled-tokens": "16384"}, ["scheduled_within_budget"]),
        ({"--max-num-active-seqs": "512"}, ["active_within_seats"]),
        ({"--long-prefill-token-threshold": "32768"}, ["threshold_within_length"]),
        ({"--long-prefill-token-threshold-adaptive": "true"}, []),  # vLLM ignores it
        ({"--enable-eplb": "true"}, ["eplb_needs_experts", "eplb_needs_ranks"]),
        ({"--enable-eplb": "true", "-ep": "true", "-dp": "2"}, []),
        ({"--data-parallel-external-lb": "true"}, ["external_lb_needs_ranks"]),
        ({"--async-scheduling": "true", "--speculative-config": '{"method": "ngram"}'}, ["async_method"]),
        ({"--async-scheduling": "true", "--speculative-config": '{"method": "eagle3"}'}, []),
        ({"--num-gpu-blocks-override": "100"}, ["pool_holds_longest"]),
        ({"--num-gpu-blocks-override": "1025"}, []),
        ({"--num-gpu-blocks-override": "100", "--max-model-len": "1024"}, []),
        ({"--max-model-len": "200000"}, ["pool_holds_longest"]),
        ({"--kv-cache-memory-bytes": "1000000"}, ["pool_holds_longest"]),
        ({"--kv-cache-memory-bytes": "300000000"}, []),
        ({"--max-loras": "4", "--max-cpu-loras": "2"}, ["cpu_loras_hold_gpu_loras"]),
        ({"--kv-transfer-config": '{"kv_connector": "NixlConnector"}'}, ["connector_has_role"]),
        ({"--kv-transfer-config": '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'}, []),
        ({"--decode-context-parallel-size": "3", "--tensor-parallel-size": "4"}, ["context_ranks_divide"]),
        ({"--async-scheduling": "true", "--distributed-executor-backend": "ray"}, ["async_executor"]),
        ({"--gpu-memory-utilization": "1.1"}, ["range"]),
        ({"--gpu-memory-utilization": "0"}, ["range"]),
        ({"--gpu-memory-utilization": "1"}, []),
        ({"--watermark": "1"}, ["range"]),
        ({"--max-num-seqs": "0"}, ["range"]),
        ({"--max-num-seqs": "12.5"}, ["number"]),
        ({"--max-num-seqs": "many"}, ["number"]),
        ({"--max-num-batched-tokens": "16K"}, []),
        ({"--max-model-len": "auto"}, []),
        ({"--max-lora-rank": "24"}, ["choice"]),
        ({"--kv-cache-dtype": "int2"}, ["choice"]),
        ({"--swap-space": "8"}, ["version"]),
        ({"--swap-space": ""}, []),  # taking away what is gone is right
        ({"--no-such-flag": "1"}, ["unknown_flag"]),
        ({"max_num_seqs": "512"}, []),  # by id too
    ],
)
def test_what_a_change_would_break(changes, broken):
    assert rules(server(), changes) == broken


def test_seats_that_were_set_keep_the_budget_up():
    assert rules(server(max_num_seqs="256"), {"--max-num-batched-tokens": "128"}) == ["budget_holds_seats"]


def test_a_prompt_must_fit_the_step_of_a_server_without_chunks():
    whole = server(chunked=False, max_num_batched_tokens="16384", enable_chunked_prefill="False")
    assert rules(whole, {"--max-num-batched-tokens": "4096"}) == ["budget_holds_prompt"]
    assert rules(whole, {"--max-num-batched-tokens": "4096", "--no-enable-chunked-prefill": ""}) == []


def test_lora_and_speculation_need_a_budget_for_the_drafts():
    both = server(enable_lora="True", speculative_config="{}", spec_tokens="3", max_num_seqs="256")
    assert rules(both, {"--max-num-batched-tokens": "512"}) == ["budget_holds_drafts"]
    assert rules(both, {"--max-num-batched-tokens": "1024"}) == []


def test_facts_settle_what_no_flag_tells():
    assert rules(server(), {"--tensor-parallel-size": "4"}) == []
    assert rules(server(), {"--tensor-parallel-size": "4"}, num_attention_heads=30) == ["heads_divide"]
    assert rules(server(), {"--tensor-parallel-size": "8"}, gpus=4) == ["gpus_are_there"]


def test_a_rule_that_the_running_server_breaks_is_none_of_its_own():
    odd = server(max_num_seqs="9000")
    assert rules(odd, {"--stream-interval": "4"}) == []


def test_every_refusal_says_flag_and_reason_in_both_languages():
    (refusal,) = may_start(server(), {"--max-num-seqs": "9000"})
    assert refusal.flag == "--max-num-batched-tokens"
    assert "max_num_seqs" in refusal.text.en
    assert refusal.text.zh != refusal.text.en


@pytest.mark.parametrize(
    ("knob", "version", "flag"),
    [
        ("max_num_active_seqs", "0.30.0", None),
        ("max_num_active_seqs", "0.31.0", "--max-num-active-seqs"),
        ("cudagraph_capture_sizes", "0.12.0", "--cudagraph-capture-sizes"),
        ("cudagraph_capture_sizes", "0.10.2", "--cuda-graph-sizes"),
        ("cudagraph_capture_sizes", "0.9.0", None),
        ("swap_space", "0.17.1", "--swap-space"),
        ("swap_space", "0.18.0", None),
        ("max_num_seqs", "", "--max-num-seqs"),
        ("stream_interval", "", None),  # nobody knows whether it has it
        ("no_such_knob", "0.32.0", None),
    ],
)
def test_a_knob_is_written_as_the_version_has_it(knob, version, flag):
    assert spelling(knob, version) == flag


def test_only_a_switch_with_an_off_form_can_be_turned_off():
    assert spelling_off("enable_prefix_caching", "0.32.0") == "--no-enable-prefix-caching"
    assert spelling_off("disable_log_stats", "0.32.0") is None


def test_what_is_set_is_known_from_the_flags_only():
    assert is_set(server(stream_interval="4"), "stream_interval") is True
    assert is_set(server(), "--stream-interval") is False
    assert is_set(Configuration(), "stream_interval") is None


def test_bounds_are_written_as_an_interval():
    assert bounds(knobs()["gpu_memory_utilization"].legal) == "(0, 1]"
    assert bounds(knobs()["watermark"].legal) == "[0, 1)"
    assert bounds(knobs()["scheduling_policy"].legal) == ""


WORDS = st.sampled_from(sorted(flag for knob in knobs().values() for flag in knob.flags())) | st.text(max_size=8)


@given(
    st.dictionaries(WORDS, st.text(max_size=12) | st.sampled_from(["", "true", "0", "16k", "-1", "1e9"]), max_size=3)
)
def test_any_change_is_judged(changes):
    for refusal in may_start(server(), changes):
        assert refusal.rule
        assert refusal.text.en


@given(st.dictionaries(WORDS, st.just(""), max_size=3))
def test_unknown_words_are_refused_whatever_the_value(changes):
    known = {flag for knob in knobs().values() for flag in knob.flags()} | set(knobs())
    refused = {refusal.flag for refusal in may_start(server(), changes) if refusal.rule == "unknown_flag"}
    assert refused <= set(changes)
    assert not refused & known

"""vLLM's defaults, only where flags, device and version are known."""

import pytest

from started_servers import ENGINE, limits, read

ONLY_FLAGS = ("vllm", "serve", "m")


def test_the_version_may_come_from_the_names_of_the_page():
    assert limits(read(gpu="NVIDIA H200", gib=140.4, argv=ONLY_FLAGS))["max_num_seqs"] == (1024, "default", "default")
    old = "vllm:gpu_cache_usage_perc 0\n"
    assert "max_num_seqs" not in limits(read(page=old, gpu="NVIDIA H200", gib=140.4, argv=ONLY_FLAGS))


def test_without_the_users_flags_no_default_is_taken():
    assert limits(read(gpu="NVIDIA H200", gib=140.4, version="0.26.0")) == {}


@pytest.mark.parametrize(
    ("flags", "tokens", "seqs"),
    [
        ("", 8192, 1024),
        ("--max-num-batched-tokens 512", 512, 512),
        ("--max-num-seqs 16", 8192, 16),
        ("--max-num-seqs 4 --max-model-len 1024", 4096, 4),
        ("--performance-mode throughput", 16384, 2048),
        ("--no-enable-chunked-prefill --max-model-len 32768", 32768, 1024),
    ],
)
def test_the_rules_for_what_was_left_open(flags, tokens, seqs):
    found = limits(read(gpu="NVIDIA H200", gib=140.4, version="0.26.0", argv=(*ONLY_FLAGS, *flags.split())))
    assert found["max_num_batched_tokens"][0] == tokens
    assert found["max_num_seqs"][0] == seqs


def test_a_logged_budget_that_nobody_set_tells_the_tier():
    log = ["non-default args: {'model': 'm'}", ENGINE, "Chunked prefill is enabled with max_num_batched_tokens=2048."]
    assert limits(read(log=log))["max_num_seqs"] == (256, "default", "default")
    log[0] = "non-default args: {'max_num_batched_tokens': 2048}"
    assert "max_num_seqs" not in limits(read(log=log))


def test_the_memory_of_a_device_may_come_from_the_log():
    log = [
        "non-default args: {'max_num_batched_tokens': 512}",
        ENGINE,
        "Free memory on device (139.29/139.8 GiB) on startup. Desired GPU memory utilization is (0.92, 128.62 GiB).",
    ]
    assert limits(read(log=log))["max_num_seqs"] == (512, "default", "default")


def test_a_cpu():
    log = ["non-default args: {'tensor_parallel_size': 2}", "CPU KV cache size: 65,536 tokens"]
    found = read(log=log)
    assert found.device == "cpu"
    assert limits(found)["max_num_batched_tokens"] == (4096, "default", "default")
    assert limits(found)["max_num_seqs"] == (256, "default", "default")

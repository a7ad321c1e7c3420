"""Command lines to flags."""

import json

import pytest

from started_servers import read
from whystall.sources.arguments import read_arguments, tidy
from whystall.sources.dialects.vllm_flags import RENAMED, SHORT, SWITCHES


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ("vllm serve m --max-num-seqs 16", {"model": "m", "max_num_seqs": "16"}),
        ("vllm serve --max-num-seqs=16 m", {"model": "m", "max_num_seqs": "16"}),
        ("vllm serve m -tp 4 -dp=2", {"model": "m", "tensor_parallel_size": "4", "data_parallel_size": "2"}),
        (
            "vllm serve m --enforce-eager --max_model_len 4k",
            {"model": "m", "enforce_eager": "True", "max_model_len": "4k"},
        ),
        ("vllm serve m --no-enable-prefix-caching", {"model": "m", "enable_prefix_caching": "False"}),
        ("vllm serve --enforce-eager m", {"model": "m", "enforce_eager": "True"}),
        ("vllm serve m -O3", {"model": "m", "optimization_level": "3"}),
        ("vllm serve m --profiler-config.profiler torch", {"model": "m", "profiler_config.profiler": "torch"}),
        ("vllm serve m -cc.cudagraph-mode=NONE", {"model": "m", "compilation_config.cudagraph_mode": "NONE"}),
        ("vllm serve m --max-model-len -1", {"model": "m", "max_model_len": "-1"}),
        ("vllm serve m --served-model-name a b", {"model": "m", "served_model_name": "a b"}),
        ("python -m vllm.entrypoints.openai.api_server --model m", {"model": "m"}),
        ("/usr/bin/python3 /opt/bin/vllm serve m --api-key sk-1", {"model": "m", "api_key": "***"}),
        ("vllm serve m --device-memory-utilization 0.8", {"model": "m", "gpu_memory_utilization": "0.8"}),
        ("vllm serve m --flag-of-the-future", {"model": "m", "flag_of_the_future": "True"}),
        ("--max-num-seqs 16", {"max_num_seqs": "16"}),
        ("vllm serve", {}),
        ("", {}),
    ],
)
def test_command_lines(line, flags):
    assert read_arguments(line.split()) == flags


def test_json_values_are_taken_apart():
    found = read_arguments(
        ["vllm", "serve", "m", "--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}']
    )
    assert found["speculative_config.method"] == "ngram"
    assert found["speculative_config.num_speculative_tokens"] == "3"
    assert read(argv=("vllm", "serve", "m", "-sc", '{"method": "ngram"}')).speculative is True


def test_spellings_are_those_of_the_real_parser(shared):
    real = json.loads((shared / "reference/vllm-flags-0.32.json").read_text())
    for short, name in SHORT.items():
        assert short == "O" or (f"-{short}" in real and "--" + name.replace("_", "-") in real)
    switches = {name[5:].replace("-", "_") for name in real if name.startswith("--no-")}
    assert switches <= SWITCHES
    valued = {
        name.lstrip("-").replace("-", "_")
        for name, (default, _) in real.items()
        if default not in ("False", "True", "None")
    }
    assert not valued & (SWITCHES - switches)
    assert all(
        "--" + new.replace("_", "-") in real
        for new in RENAMED.values()
        if new not in ("model", "device", "async_output_proc")
    )


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("['m']", "m"),
        ("[1, 2, 4]", "1 2 4"),
        ("[]", ""),
        ("['a b']", "['a b']"),
        ("[Path(x='y')]", "[Path(x='y')]"),
        ("[", "["),
    ],
)
def test_lists_are_written_as_on_a_command_line(value, wanted):
    assert tidy({"served_model_name": value}) == {"served_model_name": wanted}

"""The configuration from every source, which source wins, and that nothing is guessed."""

import json
import time

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.recording import LogLine, Recording
from whystall.model.target import Target
from whystall.sources.arguments import read_arguments
from whystall.sources.configuration import blocks_by_engine, read_configuration
from whystall.sources.dialects import vllm_defaults
from whystall.sources.dialects.vllm_flags import RENAMED, SHORT, SWITCHES
from whystall.sources.exposition import PageParser
from whystall.sources.files.recording import read_recording
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.literal import items, numbers, settings
from whystall.sources.setting import as_number
from whystall.sources.table import TableBuilder

NEW = "vllm:num_requests_waiting_by_reason 0\n"  # 0.20.2 or later
GIB = 2**30


def seen(page=NEW, log=(), gpu="", gib=0.0, **parts):
    parser = PageParser()
    builder = TableBuilder(parser)
    builder.add(100.0, parser.parse(page.encode()))
    columns = gpu_columns([GpuRow(100.0, name=gpu, mem_total_bytes=gib * GIB)]) if gpu or gib else None
    lines = tuple(LogLine(50.0, "INFO", "EngineCore", 1, text) for text in log)
    return Recording(Target("x"), builder.table(), gpu=columns, log=lines, **parts)


def read(*args, **parts):
    return read_configuration(seen(*args, **parts))


def limits(found):
    return {limit.name: (limit.value, limit.known, limit.source) for limit in found.limits}


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
    ("text", "sign", "wanted"),
    [
        ("a='x, y', b=1, c=None", "=", {"a": "x, y", "b": "1"}),
        ("'a': 'it\\'s', 'b': [1, {2: 3}]", ":", {"a": "it\\'s", "b": "[1, {2: 3}]"}),
        ("a=Name(b='c', d=(1, 2))", "=", {"a": "Name(b='c', d=(1, 2))", "a.b": "c", "a.d": "(1, 2)"}),
        ("a={'b': <Mode.X: (2, 1)>}", "=", {"a": "{'b': <Mode.X: (2, 1)>}", "a.b": "<Mode.X: (2, 1)>"}),
        ('"a": {"b": null, "c": true}', ":", {"a": '{"b": null, "c": true}', "a.c": "true"}),
        ("a='cut short", "=", {"a": "'cut short"}),
        ("", "=", {}),
        ("nothing", "=", {}),
    ],
)
def test_written_settings(text, sign, wanted):
    assert settings(text, sign) == wanted


@given(st.text(alphabet="ab=:,'\"\\()[]{}<> \n", max_size=300))
def test_any_text_is_taken_apart(text):
    settings(text)
    settings(text, ":")
    assert "".join(items(text)).count("a") == text.count("a")


@pytest.mark.parametrize(
    "text", ["(" * 1_000_000, "'" * 1_000_000, "\\" * 1_000_000, "a=(" * 300_000, "a=A(b='" * 100_000, "," * 1_000_000]
)
def test_hostile_settings_cost_little(text):
    start = time.process_time()
    settings(text)
    read(server_info=msgspec.json.encode({"vllm_config": text}).decode(), log=["non-default args: {" + text])
    assert time.process_time() - start < 5.0  # CPU time; quadratic work would take minutes


def test_numbers_of_a_list():
    assert numbers("[1, 2.5, -3]") == [1, 2.5, -3]
    assert numbers("None") == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("16384", 16384),
        ("16k", 16000),
        ("16K", 16384),
        ("1m", 1e6),
        ("934,048", 934048),
        ("0.92", 0.92),
        ("inf", None),
        ("x", None),
        ("", None),
    ],
)
def test_numbers_with_suffixes(text, value):
    assert as_number(text) == value


ENGINE = (
    "Initializing a V1 LLM engine (v0.26.0) with config: model='/models/m8b', speculative_config=None, dtype=torch.bfloat16, "
    "max_seq_len=16384, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, quantization=fp8, "
    "enforce_eager=False, kv_cache_dtype=fp8, device_config=cuda, enable_prefix_caching=True, enable_chunked_prefill=True, "
    "compilation_config={'cudagraph_mode': <CUDAGraphMode.FULL: (2, 1)>, 'cudagraph_capture_sizes': [1, 2, 4, 512], "
    "'compile_ranges_endpoints': [8192]}"
)
ARGS = "non-default args: {'model': '/models/m8b', 'max_num_seqs': 16, 'enable_lora': True, 'api_key': ['secret']}"


def test_the_start_up_lines():
    found = read(
        log=[
            ARGS,
            ENGINE,
            "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].",
            "Asynchronous scheduling is enabled.",
            "Model loading took 13.5 GiB and 1.8 seconds",
            "Model loading took 13.6 GiB and 1.8 seconds",
            "Available KV cache memory: 114.02 GiB",
            "GPU KV cache size: 934,048 tokens",
            "Graph capturing finished in 4 secs, took 0.98 GiB",
            "Profiler with mode 'torch' is enabled in the API server.",
        ]
    )
    assert (found.version, found.model, found.device, found.dtype) == ("0.26.0", "/models/m8b", "cuda", "bfloat16")
    assert (found.quantization, found.kv_cache_dtype, found.attention_backend) == ("fp8", "fp8", "FLASH_ATTN")
    assert (found.tensor_parallel, found.pipeline_parallel, found.data_parallel) == (2, 1, 1)
    assert (found.enforce_eager, found.prefix_caching, found.chunked_prefill, found.async_scheduling) == (
        False,
        True,
        True,
        True,
    )
    assert (found.speculative, found.lora, found.profiler, found.max_graph_batch) == (False, True, "torch", 512)
    assert found.weights_bytes == 13.6 * GIB
    assert found.kv_cache_bytes == 114.02 * GIB
    assert found.graph_bytes == 0.98 * GIB
    assert found.flags == {"model": "/models/m8b", "max_num_seqs": "16", "enable_lora": "True", "api_key": "***"}
    assert limits(found)["max_num_seqs"] == (16, "reported", "log")
    assert limits(found)["max_num_batched_tokens"] == (8192, "reported", "log")
    assert limits(found)["kv_cache_tokens"] == (934048, "reported", "log")
    assert limits(found)["max_model_len"] == (16384, "reported", "log")


def test_a_v0_log():
    found = read(
        page="vllm:num_requests_swapped 0\n",
        log=[
            "Initializing an LLM engine (v0.5.0) with config: model='/m', dtype=torch.float16, max_seq_len=2048, "
            "tensor_parallel_size=1, enforce_eager=True, kv_cache_dtype=auto, device_config=cuda",
            "# GPU blocks: 27500, # CPU blocks: 2048",
            "Loading model weights took 12.5 GB",
        ],
    )
    assert (found.version, found.dtype, found.enforce_eager, found.device) == ("0.5.0", "float16", True, "cuda")
    assert limits(found)["num_gpu_blocks"] == (27500, "reported", "log")
    assert found.weights_bytes == 12.5 * GIB
    assert "max_num_seqs" not in limits(found)


def test_the_last_start_before_the_end_counts():
    def at(t, text):
        return LogLine(t, "INFO", "APIServer", 1, text)

    log = (
        at(1.0, "non-default args: {'max_num_seqs': 8}"),
        at(2.0, "Available KV cache memory: 1 GiB"),
        *(at(3.0, f"line {k}") for k in range(20)),
        at(50.0, "non-default args: {'max_num_seqs': 16}"),
        at(51.0, "Available KV cache memory: 2 GiB"),
        *(at(60.0, f"line {k}") for k in range(20)),
        at(150.0, "non-default args: {'max_num_seqs': 32}"),
    )
    found = read_configuration(msgspec.structs.replace(seen(), log=log))
    assert limits(found)["max_num_seqs"] == (16, "reported", "log")
    assert found.kv_cache_bytes == 2 * GIB


INFO = {
    "vllm_config": {
        "scheduler_config": {
            "max_num_seqs": 128,
            "max_num_queued_reqs": None,
            "policy": "priority",
            "async_scheduling": False,
        },
        "model_config": {"max_model_len": 4096},
        "lora_config": None,
        "speculative_config": {"method": "ngram"},
        "parallel_config": {"_api_process_count": 2},
    }
}


def test_server_info_in_json_wins():
    found = read(
        page='vllm:cache_config_info{engine="0",num_gpu_blocks="100",block_size="16"} 1\n',
        server_info=json.dumps(INFO),
        log=[ARGS, "Using max model len 8192"],
        argv=("vllm", "serve", "m", "--max-num-seqs", "4", "--scheduling-policy", "fcfs"),
        models='{"data":[{"id":"x","root":"/models/x","max_model_len":2048}]}',
    )
    assert limits(found)["max_num_seqs"] == (128, "reported", "server_info")
    assert limits(found)["max_model_len"] == (4096, "reported", "server_info")
    assert limits(found)["num_gpu_blocks"] == (100, "reported", "metrics")
    assert "max_num_queued_reqs" not in limits(found)
    assert (found.scheduling_policy, found.async_scheduling) == ("priority", False)
    assert (found.lora, found.speculative, found.api_server_count) == (False, True, 2)


def test_server_info_in_text():
    body = json.dumps({"vllm_config": ENGINE.partition("config: ")[2]})
    found = read(server_info=body, version='{"version": "0.26.0"}')
    assert (found.version, found.device, found.max_graph_batch) == ("0.26.0", "cuda", 512)
    assert limits(found)["max_num_batched_tokens"] == (8192, "reported", "server_info")
    assert "max_num_seqs" not in limits(found)  # the user's flags were not seen


def test_the_real_server_info(shared):
    found = read(server_info=(shared / "samples/vllm-0.32-cpu/server_info.json").read_text())
    assert {name: value for name, (value, _, _) in limits(found).items()} == {
        "max_num_seqs": 128,
        "max_num_batched_tokens": 2048,
        "num_gpu_blocks": 512,
        "block_size": 128,
        "max_model_len": 4096,
        "kv_cache_tokens": 65536,
        "gpu_memory_utilization": 0.92,
    }
    assert (found.device, found.dtype, found.enforce_eager, found.profiler) == ("cpu", "bfloat16", True, "torch")
    assert (found.speculative, found.lora, found.max_graph_batch) == (False, False, None)


@pytest.mark.parametrize(
    "body", ["", "<html>", "{", "[]", "3", '{"vllm_config": 3}', '{"vllm_config": {"model_config": 3}}', "[" * 100_000]
)
def test_bodies_that_are_none(body):
    found = read(server_info=body, models=body, version="")
    assert (found.model, found.limits, found.speculative) == ("", (), None)


def test_the_models_endpoint():
    found = read(models='{"data":[{"id":"x","root":"/models/x","max_model_len":2048}]}')
    assert limits(found) == {"max_model_len": (2048, "reported", "metrics")}
    assert found.model == "/models/x"


ONLY_FLAGS = ("vllm", "serve", "m")
LARGE, OTHER, HUGE = (8192, 1024), (2048, 256), (16384, 1024)


@pytest.mark.parametrize(
    ("gpu", "gib", "version", "wanted"),
    [
        ("NVIDIA H200", 140.4, "0.26.0", LARGE),
        ("NVIDIA H100 80GB HBM3", 79.6, "0.26.0", LARGE),
        ("NVIDIA A100-SXM4-80GB", 79.3, "0.26.0", OTHER),
        ("NVIDIA L4", 22.5, "0.32.0", OTHER),
        ("NVIDIA B200", 178.0, "0.32.0", HUGE),
        ("NVIDIA B200", 178.0, "0.27.0", LARGE),
        ("AMD Instinct MI300X", 191.0, "0.32.0", HUGE),
        ("NVIDIA H200", 140.4, "0.8.5", None),
        ("NVIDIA H200", 0.0, "0.26.0", OTHER),
        ("Unknown", 140.4, "0.26.0", None),
    ],
)
def test_defaults_of_gpus(gpu, gib, version, wanted):
    if gib == 0.0:
        assert vllm_defaults.gpu_default(None, gpu, (0, 26)) is None
        return
    found = limits(read(gpu=gpu, gib=gib, version=version, argv=ONLY_FLAGS))
    if wanted is None:
        assert "max_num_seqs" not in found
    else:
        assert found["max_num_batched_tokens"] == (wanted[0], "default", "default")
        assert found["max_num_seqs"] == (wanted[1], "default", "default")


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


def test_metrics_alone():
    found = read(
        page=NEW + 'vllm:cache_config_info{engine="0",num_gpu_blocks="2500",block_size="16",cache_dtype="auto"} 1\n'
    )
    assert limits(found) == {"num_gpu_blocks": (2500, "reported", "metrics"), "block_size": (16, "reported", "metrics")}
    assert (found.device, found.version, found.flags) == ("", "", {})
    assert (found.speculative, found.lora, found.enforce_eager) == (None, None, None)


def test_blocks_by_engine(shared):
    parser = PageParser()
    builder = TableBuilder(parser)
    builder.add(1.0, parser.parse((shared / "samples/vllm-0.32-cpu/metrics_dp2_multiprocess_lora.prom").read_bytes()))
    recording = Recording(Target("x"), builder.table())
    assert set(blocks_by_engine(recording)) == {"0", "1"}
    assert blocks_by_engine(seen()) == {}


def test_the_configuration_before_a_restart_does_not_count():
    parser = PageParser()
    builder = TableBuilder(parser)
    for t, blocks in ((1.0, 100), (2.0, 100), (3.0, 70)):
        page = f'vllm:cache_config_info{{engine="0",num_gpu_blocks="{blocks}",block_size="16"}} 1\n'
        builder.add(t, parser.parse(page.encode()))
    recording = Recording(Target("x"), builder.table())
    assert blocks_by_engine(recording) == {"0": 70}
    assert limits(read_configuration(recording))["num_gpu_blocks"][0] == 70


def test_several_engines_and_the_fewest_blocks():
    page = "".join(
        f'vllm:cache_config_info{{engine="{k}",num_gpu_blocks="{n}"}} 1\n' for k, n in enumerate((900, 1000, 95))
    )
    assert limits(read(page=page))["num_gpu_blocks"][0] == 95


def test_of_every_recording_what_it_was_started_with(shared):
    truth = json.loads((shared / "recordings/truth.json").read_text())
    for name, said in truth.items():
        recording = read_recording(shared / "recordings" / name)
        found = read_configuration(recording)
        flags = read_arguments(said["argv"])
        for flag in (
            "max_num_seqs",
            "max_num_batched_tokens",
            "max_model_len",
            "max_num_queued_reqs",
            "num_gpu_blocks",
        ):
            asked = flags.get(flag) or flags.get(flag + "_override")
            if asked:
                assert found.limit(flag).value == float(asked), (name, flag)
                assert found.limit(flag).known == "reported"
        cpu = name.startswith("cpu_") and name != "cpu_starved"
        assert found.device == ("cpu" if cpu else "cuda")
        assert found.version == ("0.32.0" if cpu else "0.26.0")
        assert found.enforce_eager == (flags.get("enforce_eager") == "True")
        assert found.prefix_caching == (flags.get("enable_prefix_caching") != "False")
        assert found.chunked_prefill == (flags.get("enable_chunked_prefill") != "False")
        assert found.limit("max_num_seqs") is not None
        assert found.limit("max_num_batched_tokens") is not None
        assert np.isfinite(found.kv_cache_bytes)
        assert blocks_by_engine(recording).keys() == {"0"}

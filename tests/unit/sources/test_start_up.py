"""What the start-up lines of a log say."""

import msgspec

from started_servers import ARGS, ENGINE, GIB, limits, read, seen
from whystall.model.recording import LogLine
from whystall.sources import start_up
from whystall.sources.configuration import read_configuration


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


def test_the_arguments_that_old_versions_wrote():
    found = read(
        page="vllm:num_requests_swapped 0\n",
        log=[
            "vLLM API server version 0.6.6.post1",
            "args: Namespace(host=None, port=8000, api_key='secret', model='/m', max_model_len=None, max_num_seqs=256, "
            "gpu_memory_utilization=0.9, enable_prefix_caching=False, device='auto')",
        ],
    )
    assert (found.version, found.model, found.prefix_caching) == ("0.6.6.post1", "/m", False)
    assert limits(found)["max_num_seqs"] == (256, "reported", "log")
    assert limits(found)["gpu_memory_utilization"] == (0.9, "reported", "log")
    assert found.flags == {}  # set by the operator or not: the line does not say


def test_arguments_that_were_repeated_with_none_of_them_set_are_known_to_be_the_defaults():
    line = LogLine(None, "INFO", "APIServer", None, "non-default args: {}")
    assert (start_up.args_seen([line]), start_up.user_args([line])) == (True, {})
    assert not start_up.args_seen([])

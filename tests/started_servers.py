"""Recordings of one scrape that say how a server was started, for tests of what reads its configuration."""

from whystall.model.recording import LogLine, Recording
from whystall.model.target import Target
from whystall.sources.configuration import read_configuration
from whystall.sources.exposition import PageParser
from whystall.sources.gpu import GpuRow, gpu_columns
from whystall.sources.table import TableBuilder

NEW = "vllm:num_requests_waiting_by_reason 0\n"  # 0.20.2 or later
GIB = 2**30
ENGINE = (
    "Initializing a V1 LLM engine (v0.26.0) with config: model='/models/m8b', speculative_config=None, "
    "dtype=torch.bfloat16, max_seq_len=16384, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, "
    "quantization=fp8, enforce_eager=False, kv_cache_dtype=fp8, device_config=cuda, enable_prefix_caching=True, "
    "enable_chunked_prefill=True, compilation_config={'cudagraph_mode': <CUDAGraphMode.FULL: (2, 1)>, "
    "'cudagraph_capture_sizes': [1, 2, 4, 512], 'compile_ranges_endpoints': [8192]}"
)
ARGS = "non-default args: {'model': '/models/m8b', 'max_num_seqs': 16, 'enable_lora': True, 'api_key': ['secret']}"


def seen(page=NEW, log=(), gpu="", gib=0.0, **parts) -> Recording:
    """One scrape at 100 s, log lines at 50 s, and one GPU where a name or a size is given."""
    parser = PageParser()
    builder = TableBuilder(parser)
    builder.add(100.0, parser.parse(page.encode()))
    columns = gpu_columns([GpuRow(100.0, name=gpu, mem_total_bytes=gib * GIB)]) if gpu or gib else None
    lines = tuple(LogLine(50.0, "INFO", "EngineCore", 1, text) for text in log)
    return Recording(Target("x"), builder.table(), gpu=columns, log=lines, **parts)


def read(*args, **parts):
    return read_configuration(seen(*args, **parts))


def limits(found):
    """Value, how known and from where, by name."""
    return {limit.name: (limit.value, limit.known, limit.source) for limit in found.limits}

"""What vLLM's log lines look like, 0.5 to 0.32: formats, periodic lines, and the lines that say something happened.

Lines are told by their message, never by the file and line number, which change with every release. Every pattern is
anchored or begins with fixed words, and its gaps are bounded, so that no line of any length makes it backtrack far.
"""

from __future__ import annotations

import re

import msgspec

_NUMBER = r"(\d[\d,]*(?:\.\d+)?)"

# (APIServer pid=4292) INFO 11-30 01:07:26 [api_utils.py:273] text; V0: INFO 06-20 10:00:00 metrics.py:341] text.
# Some builds write the year and milliseconds, and some versions forgot the bracket.
_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)"
_TIME = r"(?P<time>(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d)"
LINE = re.compile(
    rf"{_LEVEL}\s+{_TIME}(?P<fraction>[.,]\d{{1,9}})?\s+\[?[^\]\s]{{1,200}}:\d{{1,7}}\b\]? ?(?P<text>.*)", re.DOTALL
)
# (Worker_TP0 pid=7), (VllmWorker rank=1 pid=7), Ray's (RayWorkerWrapper pid=7, ip=10.0.0.1)
PROCESS = re.compile(
    r"\((?P<process>[^()\s]{1,80})(?: rank=\d{1,6})? pid=(?P<pid>\d{1,10})(?:, ip=[0-9A-Fa-f.:]{2,45})?\) ?"
)
UVICORN = re.compile(rf"{_LEVEL}:\s+(?P<text>.*)", re.DOTALL)
# What container runtimes and journals put before a line: a time that says its zone, or the name of a pod or service.
STAMP = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?) (?:(?:stdout|stderr) [FP] )?"
)
BEGINS = re.compile(rf"\s(?=(?:\([^()\s]{{1,80}}(?: [^()]{{0,80}})?\) ?)?{_LEVEL}\s+{_TIME})")
BEGINS_WITHIN = 400

# Words of lines that stand within a minute or two of the API process's start.
STARTS = ("non-default args: {", "args: Namespace(", "vLLM API server version", "LLM engine (v")

STATS = re.compile(
    r"(?:Engine (?P<engine>\d{1,5}): |(?P<engines>\d{1,5}) Engines Aggregated: )?"
    r"Avg prompt throughput: (?P<prompt>\d{1,12}(?:\.\d+)?) tokens/s, "
    r"Avg generation throughput: (?P<generation>\d{1,12}(?:\.\d+)?) tokens/s, "
    r"Running: (?P<running>\d{1,9}) reqs, (?:Swapped: \d{1,9} reqs, )?(?:Waiting|Pending): (?P<waiting>\d{1,9}) reqs"
)
STATS_KV = re.compile(r"\b(?:GPU|CPU|XPU|TPU|HPU) KV cache usage: (\d{1,3}(?:\.\d+)?)%")
STATS_DEFERRED = re.compile(r", Deferred: (\d{1,9}) reqs")
STATS_PREEMPTIONS = re.compile(r", Preemptions: (\d{1,9})")
STATS_HIT_RATE = re.compile(r"(?:, |\A)Prefix cache hit rate: (?:GPU: )?(\d{1,3}(?:\.\d+)?)%")

ITERATION = re.compile(
    r"Engine (?P<engine>\d{1,5}): Iteration\(\d{1,12}\): (?P<context_requests>\d{1,9}) context requests, "
    r"(?P<context_tokens>\d{1,9}) context tokens, (?P<generation_requests>\d{1,9}) generation requests, "
    r"(?P<generation_tokens>\d{1,9}) generation tokens, "
    r"iteration elapsed time: (?P<elapsed>\d{1,12}(?:\.\d+)?) ms(?P<dummy> \(dummy\))?"
)


class EventPattern(msgspec.Struct, frozen=True):
    """A kind of line: its event id, the words that any such line holds, and the pattern that gives its number.

    ``words`` is a plain search that most lines fail at once. Group 1 of ``number`` is the event's value, times
    ``scale``; a line without it has no value. With ``also`` a line must match that pattern too.
    """

    id: str
    words: str
    number: re.Pattern[str] | None = None
    scale: float = 1.0
    also: re.Pattern[str] | None = None


def _event(id: str, words: str, number: str = "", scale: float = 1.0, also: str = "") -> EventPattern:
    return EventPattern(id, words, re.compile(number) if number else None, scale, re.compile(also) if also else None)


GIB = float(1024**3)

# In this order the first that fits names the line.
EVENTS: tuple[EventPattern, ...] = (
    # start-up, and what it says of the configuration
    _event("non_default_args", "non-default args: {"),
    _event("engine_config", "Initializing a V1 LLM engine (v"),
    _event("engine_config", "Initializing an LLM engine (v"),
    _event(
        "chunked_prefill",
        "Chunked prefill is enabled with max_num_batched_tokens=",
        r"max_num_batched_tokens=(\d{1,9})",
    ),
    _event("max_model_len", "Using max model len ", r"Using max model len (\d{1,9})"),
    _event("model_load_start", "Starting to load model "),
    _event("model_load_progress", "checkpoint shards: ", r"(\d{1,3})% Completed", 0.01),
    _event("model_download", "Time spent downloading weights for ", rf": {_NUMBER} seconds"),
    _event("weights_loaded", "Loading weights took ", rf"took {_NUMBER} seconds"),
    _event("model_loading", "Model loading took ", rf"took {_NUMBER} Gi?B", GIB),
    _event("model_loading", "Loading model weights took ", rf"took {_NUMBER} GB", GIB),
    _event("kv_memory", "memory reserved for KV Cache is ", rf"KV Cache is {_NUMBER}GiB", GIB),
    _event("kv_memory", "Available KV cache memory: ", r"memory: (-?\d[\d,]*(?:\.\d+)?) GiB", GIB),
    _event("kv_memory", " GiB for KV cache", rf"Explicitly set \({_NUMBER}/", GIB),
    _event("kv_size", " KV cache size: ", rf"size: {_NUMBER} tokens"),
    _event("kv_blocks", ", # CPU blocks: ", r"# \w{2,12} blocks: (\d{1,12}), #"),
    _event("kv_blocks", "initialization after num_gpu_blocks is: ", r"is: (\d{1,12})"),
    _event("kv_blocks_override", "Overriding num_gpu_blocks=", r"num_gpu_blocks_override=(\d{1,12})"),
    _event("max_model_len_reduced", "Auto-fit max_model_len: reduced from ", r"to (\d{1,12}) to fit"),
    _event("attention_backend", " attention backend out of potential backends"),
    _event("attention_backend", "Using Flash Attention backend"),
    _event("attention_backend", "Using FlashInfer backend"),
    _event("graph_capture", "Graph capturing finished in ", rf"took {_NUMBER} GiB", GIB),
    _event("graph_memory", "CUDA graph pool memory: ", rf"memory: {_NUMBER} GiB \(actual\)", GIB),
    _event("memory_use", "Free memory on device (", rf"Actual usage is {_NUMBER} GiB", GIB),
    _event("compile_time", "torch.compile took ", rf"took {_NUMBER} s"),
    _event("compile_time", "Dynamo bytecode transform time: ", rf"time: {_NUMBER} s"),
    _event("compile_time", "Compiling a graph for ", rf"takes {_NUMBER} s"),
    _event("engine_ready", "init engine (profile, create kv cache, warmup model) took ", rf"took {_NUMBER} s"),
    _event("async_scheduling_on", "Asynchronous scheduling is enabled."),
    _event("async_scheduling_off", "Async scheduling will be disabled because"),
    _event("async_scheduling_off", "Asynchronous scheduling is disabled"),
    _event("enforce_eager", "Enforce eager set, disabling "),
    _event("enforce_eager", "Cudagraph is disabled under eager mode"),
    _event("token_budget_exceeds", "exceeds max_num_seqs * max_model_len"),
    _event("stats_disabled", "disabling stats logging to avoid incomplete stats"),
    _event("trace_function", "VLLM_TRACE_FUNCTION"),
    _event("server_start", "Starting vLLM server on "),
    _event("server_start", "Starting vLLM API server"),
    _event("server_ready", "Application startup complete."),
    _event("shutdown", "Application shutdown complete."),
    _event("shutdown", "Shutting down", also=r"\AShutting down"),
    # profiling and other work that stalls or slows the server
    _event("profiler_configured", "Profiler with mode "),
    _event("profiler_configured", "Torch profiler is enabled in the API server"),
    _event("profiler_start", "Starting profiler"),
    _event("profiler_start", "Profiler started"),
    _event("profiler_stopping", "Stopping profiler"),
    _event("profiler_stop", "Profiler stopped"),
    _event("profiler_result", "Self CPU time total: ", rf"total: {_NUMBER}(?:us|ms|s)"),
    _event("jit_compile", " during inference: ", also="This causes a latency spike"),
    _event("gc_pause", "GC took ", rf"GC took {_NUMBER}ms", 1e-3),
    _event("prefix_cache_reset_failed", "Failed to reset prefix cache because some blocks"),
    _event("prefix_cache_reset", "Successfully reset prefix cache"),
    _event("graph_stats", "**CUDAGraph Config Settings:**"),
    _event("spec_decode_stats", "SpecDecoding metrics: ", r"Avg Draft acceptance rate: (\d{1,3}(?:\.\d+)?)%", 0.01),
    _event("kv_transfer_stats", "KV Transfer metrics: "),
    _event("ec_transfer_stats", "EC Transfer metrics: "),
    _event("mfu_stats", ": MFU: ", rf"MFU: {_NUMBER} TF/s/device", 1e12),
    # pressure and refusals
    _event(
        "preemption", " is preempted by PreemptionMode.", r"total_(?:num_)?cumulative_preemption(?:_cnt)?=(\d{1,12})"
    ),
    _event("admission_rejected", "The engine is currently busy and cannot accept new requests."),
    _event("admission_rejected", "The engine has reached its prefill token backlog limit."),
    _event("prompt_too_long", "maximum context length is ", r"maximum context length is (\d{1,12}) tokens"),
    _event("prompt_too_long", "is longer than the maximum model length of ", r"model length of (\d{1,12})"),
    _event("prompt_too_long", "exceeds model's maximum context length", r"context length \((\d{1,12})\)"),
    _event("prompt_too_long", "is too long and exceeds limit of ", r"exceeds limit of (\d{1,12})"),
    _event("prompt_too_long", "exceeds the capacity of block_manager"),
    _event("request_aborted", "Aborted request(s) "),
    _event("request_aborted", " aborted.", also=r"\ARequest \S{1,200} aborted\."),
    _event("request_received", "Received request ", also=r"\AReceived request "),
    # hangs and deaths
    _event("shm_stall", "No available shared memory broadcast block found in ", r"found in (\d{1,9}) seconds"),
    _event("rpc_timeout", "RPC call to ", also="timed out"),
    _event("host_out_of_memory", "Out of memory: Killed process "),
    _event("host_out_of_memory", "Memory cgroup out of memory: Killed process "),
    _event("host_out_of_memory", "oom-kill:constraint="),
    _event("gpu_fault", "NVRM: Xid", r"Xid(?: \([^)]{0,60}\))?[^:]{0,40}: (\d{1,4})"),
    _event("nccl_timeout", "Watchdog caught collective operation timeout", r"ran for (\d{1,12}) milliseconds", 1e-3),
    _event("out_of_memory", "OutOfMemoryError"),
    _event("out_of_memory", "CUDA out of memory"),
    _event("out_of_memory", "not enough GPU memory. Try lowering --gpu-memory-utilization"),
    _event("no_kv_memory", "No available memory for the cache blocks."),
    _event("model_len_does_not_fit", "To serve at least one request with the model"),
    _event("gpu_memory_taken", "is less than desired GPU memory utilization"),
    _event("gpu_memory_taken", "Error in memory profiling. Initial free memory"),
    _event("engine_start_failed", "EngineCore failed to start."),
    _event("engine_start_failed", "Engine core initialization failed."),
    _event("engine_dead", "EngineCore encountered a fatal error."),
    _event("engine_dead", "EngineCore encountered an issue."),
    _event("engine_dead", "EngineDeadError"),
    _event("engine_dead", "AsyncEngineDeadError"),
    _event("engine_dead", "AsyncLLM output_handler failed."),
    _event("engine_dead", "Engine core process ", also="died unexpectedly"),
    _event("worker_dead", "Worker proc ", r"exit code: (-?\d{1,5})", also="died unexpectedly"),
    _event("worker_dead", "RayWorkerProc rank=", also="died unexpectedly"),
    _event("worker_dead", "WorkerProc hit an exception."),
    _event("engine_dump", "Dumping input data for V1 LLM engine"),
    _event("engine_dump", "Dumping scheduler output for model execution"),
    _event("engine_dump", "Dumping scheduler stats: "),
)

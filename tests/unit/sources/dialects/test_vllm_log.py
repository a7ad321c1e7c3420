"""Every line class of vLLM is told by its words."""

import datetime as dt

import pytest

from whystall.model.recording import LogLine
from whystall.sources.dialects.vllm_log import EVENTS
from whystall.sources.log import read_events

START = dt.datetime(2026, 11, 30, 1, 0, tzinfo=dt.UTC).timestamp()


def line(text, t=START):
    return LogLine(t, "INFO", "EngineCore", 1, text)


def event(text):
    found = read_events([line(text)])
    return (found[0].id, found[0].value) if found else None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Chunked prefill is enabled with max_num_batched_tokens=8192.", ("chunked_prefill", 8192)),
        ("Using max model len 16384", ("max_model_len", 16384)),
        ("Model loading took 13.5 GiB and 1.832158 seconds", ("model_loading", 13.5 * 2**30)),
        ("Model loading took 13.5 GiB memory and 1.832158 seconds", ("model_loading", 13.5 * 2**30)),
        ("Loading model weights took 12.5523 GB", ("model_loading", 12.5523 * 2**30)),
        ("Available KV cache memory: 114.02 GiB", ("kv_memory", 114.02 * 2**30)),
        ("GPU KV cache size: 934,048 tokens", ("kv_size", 934048)),
        (
            "CPU KV cache size: 65,536 tokens, Maximum concurrency for 4,096 tokens per request: 16.00x",
            ("kv_size", 65536),
        ),
        ("# GPU blocks: 27500, # CPU blocks: 2048", ("kv_blocks", 27500)),
        ("# cuda blocks: 13618, # CPU blocks: 2048", ("kv_blocks", 13618)),
        ("vllm cache_config_info with initialization after num_gpu_blocks is: 57656", ("kv_blocks", 57656)),
        (
            "model weights take 7.17GiB; the rest of the memory reserved for KV Cache is 26.60GiB.",
            ("kv_memory", 26.6 * 2**30),
        ),
        ("Model loading took 14.9888 GB and 3.2 seconds", ("model_loading", 14.9888 * 2**30)),
        (
            "Sequence group 0 is preempted by PreemptionMode.SWAP mode. total_cumulative_preemption_cnt=7",
            ("preemption", 7),
        ),
        ("Overriding num_gpu_blocks=58378 with num_gpu_blocks_override=2500", ("kv_blocks_override", 2500)),
        ("Auto-fit max_model_len: reduced from 131072 to 40960 to fit in 10 GiB", ("max_model_len_reduced", 40960)),
        ("Graph capturing finished in 4 secs, took 0.98 GiB", ("graph_capture", 0.98 * 2**30)),
        ("CUDA graph pool memory: 0.95 GiB (actual), 0.9 GiB (estimated), x", ("graph_memory", 0.95 * 2**30)),
        (
            "init engine (profile, create kv cache, warmup model) took 10.99 s (compilation: 3.76 s)",
            ("engine_ready", 10.99),
        ),
        ("Starting profiler...", ("profiler_start", None)),
        ("Max profiling iterations reached. Stopping profiler...", ("profiler_stopping", None)),
        ("Profiler stopped successfully.", ("profiler_stop", None)),
        ("Profiler with mode 'torch' is enabled in the API server.", ("profiler_configured", None)),
        (
            "Triton kernel x during inference: y. This causes a latency spike; consider extending warmup",
            ("jit_compile", None),
        ),
        ("GC took 1520.250ms to complete. 12 objects", ("gc_pause", 1.52025)),
        (
            "Sequence group 3 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. "
            "x total_num_cumulative_preemption=51",
            ("preemption", 51),
        ),
        ("The engine is currently busy and cannot accept new requests. Try", ("admission_rejected", None)),
        ("The engine has reached its prefill token backlog limit. Try", ("admission_rejected", None)),
        ("No available shared memory broadcast block found in 60 seconds. This", ("shm_stall", 60)),
        ("TimeoutError: RPC call to execute_model timed out.", ("rpc_timeout", None)),
        (
            "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, "
            "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.",
            ("nccl_timeout", 600.029),
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", ("out_of_memory", None)),
        ("No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", ("no_kv_memory", None)),
        (
            "To serve at least one request with the model's max seq len (131072), (16 GiB",
            ("model_len_does_not_fit", None),
        ),
        ("EngineCore failed to start.", ("engine_start_failed", None)),
        ("EngineCore encountered a fatal error.", ("engine_dead", None)),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore", ("engine_dead", None)),
        ("Engine core process EngineCore_DP0 died unexpectedly.", ("engine_dead", None)),
        ("Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.", ("worker_dead", -9)),
        ("Dumping scheduler stats: SchedulerStats(num_running_reqs=3)", ("engine_dump", None)),
        ("This model's maximum context length is 4096 tokens. However, your prompt", ("prompt_too_long", 4096)),
        (
            "SpecDecoding metrics: Mean acceptance length: 2.1, Avg Draft acceptance rate: 61.5%",
            ("spec_decode_stats", 0.615),
        ),
        ("Engine 000: MFU: 312.5 TF/s/device 900.0 GB/s/device", ("mfu_stats", 312.5e12)),
        ("KV Transfer metrics: Num successful transfers=3", ("kv_transfer_stats", None)),
        ("**CUDAGraph Config Settings:**", ("graph_stats", None)),
        ("Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup.", ("enforce_eager", None)),
        ("Async scheduling will be disabled because it is not supported with x", ("async_scheduling_off", None)),
        ("Request cmpl-1 aborted.", ("request_aborted", None)),
        ("Application shutdown complete.", ("shutdown", None)),
        ("the profile of the season", None),
        ("I shouted that the plan was aborted.", None),
    ],
)
def test_events(text, wanted):
    found = event(text)
    if wanted is None or found is None:
        assert found == wanted
    else:
        assert found[0] == wanted[0]
        assert found[1] == (None if wanted[1] is None else pytest.approx(wanted[1]))


def test_event_ids_are_plain_words():
    for pattern in EVENTS:
        assert pattern.id.replace("_", "").isalpha()
        assert len(pattern.words) > 3

"""Every warning and error line of vLLM's log is evidence: for a cause, or for the reader.

The lines are those of the reference on vLLM's log, with numbers and names filled in.
"""

from __future__ import annotations

import pytest

from scenes import evidence_of
from whystall.causes.catalogue import catalogue

CALM, LOSS = {"seconds": 25}, {"seconds": 20, "running": 8, "waiting": 30, "queue_s": 4.0}
AWAY = {"seconds": 30, "away": True}
ARGS = "non-default args: {'model': 'm'}"
# Evidence that no cause weighs: what the server refused or warned of by itself.
READER = {"log.too_long", "log.reset_failed", "log.start_warned"}

STARTING = [
    (
        "log.start_warned",
        "max_num_batched_tokens (8192) exceeds max_num_seqs * max_model_len (4096). This may lead to ",
    ),
    ("log.start_warned", "Async scheduling will be disabled because it is not supported with this executor"),
    ("log.start_warned", "Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup"),
    ("log.start_warned", "Auto-fit max_model_len: reduced from 131072 to 40960 to fit in 12.1 GiB"),
    ("startup.failed", "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when"),
    (
        "startup.failed",
        "To serve at least one request with the model's max seq len (131072), (16.0 GiB KV cache is needed, which is "
        "larger than the available KV cache memory (9.1 GiB). Based on the available memory, the estimated maximum",
    ),
    (
        "startup.failed",
        "Free memory on device cuda:0 (3.1/79.1 GiB) on startup is less than desired GPU memory utilization (0.92, "
        "72.8 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
    ),
    ("startup.failed", "Error in memory profiling. Initial free memory 71.2 GiB, current free memory 75.4 GiB."),
    ("startup.failed", "Failed to load model - not enough GPU memory. Try lowering --gpu-memory-utilization to free"),
    ("startup.failed", "CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try"),
    ("startup.failed", "EngineCore failed to start."),
    ("startup.failed", "Engine core initialization failed. See root cause above. Failed core proc(s): {}"),
]
SERVING = [
    (
        "log.preempted",
        "Sequence group cmpl-1 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. "
        "This can affect the end-to-end performance. total_num_cumulative_preemption=51",
    ),
    ("log.out_of_memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.34 GiB."),
    ("log.out_of_memory", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.34 GiB."),
    (
        "log.too_long",
        "This model's maximum context length is 4096 tokens. However, your prompt contains 5000 input tokens",
    ),
    (
        "log.too_long",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that",
    ),
    ("log.too_long", "Input length (5000) exceeds model's maximum context length (4096)."),
    ("log.too_long", "Input prompt (5000 tokens) is too long and exceeds limit of 4096"),
    (
        "log.too_long",
        "Input prompt (5000 tokens) + lookahead slots (0) is too long and exceeds the capacity of block_manager",
    ),
    ("log.refused", "The engine is currently busy and cannot accept new requests. Please retry"),
    ("log.refused", "The engine has reached its prefill token backlog limit. Please retry"),
    ("log.engine_dead", "EngineCore encountered a fatal error."),
    ("log.engine_dead", "EngineCore encountered an issue. See stack trace (above) for the root cause."),
    ("log.engine_dead", "Engine core process EngineCore_0 died unexpectedly."),
    ("log.engine_dead", "AsyncLLM output_handler failed."),
    ("log.engine_dead", "Worker proc VllmWorker-0 died unexpectedly (exit code: 1), shutting down executor."),
    ("log.engine_dead", "RayWorkerProc rank=0 died unexpectedly, shutting down executor"),
    ("log.engine_dead", "WorkerProc hit an exception."),
    ("log.killed", "Worker proc VllmWorker-0 died unexpectedly (exit code: -9), shutting down executor."),
    ("log.engine_dead", "Dumping input data for V1 LLM engine (v0.32.0) with config: model='m', "),
    ("log.engine_dead", "Dumping scheduler output for model execution: SchedulerOutput(scheduled_new_reqs=[], "),
    (
        "log.engine_dead",
        "Dumping scheduler stats: SchedulerStats(num_running_reqs=3, num_waiting_reqs=0, kv_cache_usage=0.1)",
    ),
    (
        "log.rank_stalled",
        "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are "
        "hanging or doing some time-consuming work (e.g. compilation, weight/kv cache quantization).",
    ),
    ("log.rank_stalled", "TimeoutError: RPC call to execute_model timed out."),
    (
        "log.rank_stalled",
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=1, "
        "NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.",
    ),
    (
        "log.jit_compile",
        "Triton kernel compilation during inference: fused_moe. This causes a latency spike; consider extending warmup",
    ),
    ("log.gc_pause", "GC took 1203.412ms to complete. 812345 objects collected."),
    ("log.reset_failed", "Failed to reset prefix cache because some blocks (12) are not freed yet"),
    ("log.prefix_reset", "Successfully reset prefix cache"),
]


def weighed() -> set[str]:
    return {id for cause in catalogue().values() for id, weight in cause.weights.items() if weight > 0}


@pytest.mark.parametrize(("id", "line"), SERVING)
def test_a_line_while_serving(id: str, line: str) -> None:
    found = evidence_of(CALM, LOSS, log=[[30.0, line]])[id]
    assert found.value == 1
    assert found.strength >= 1
    assert id in weighed() | READER


@pytest.mark.parametrize(("id", "line"), STARTING)
def test_a_line_of_a_start(id: str, line: str) -> None:
    found = evidence_of(CALM, AWAY, log=[[26.0, ARGS], [30.0, line]])[id]
    assert found.value == 1
    assert found.strength >= 1 or id in READER
    assert id in weighed() | READER


def test_a_line_that_some_versions_never_write_says_nothing_by_its_absence() -> None:
    found = evidence_of(CALM, LOSS, log=[[1.0, "nothing of note"]])
    assert not {"log.preempted", "log.refused", "log.prefix_reset", "log.too_long"} & set(found)
    assert found["log.gc_pause"].strength < 0

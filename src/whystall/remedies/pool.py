"""The KV pool's bytes (vllm.md 5.6): what a block takes, how large the pool could be, how much is free."""

from __future__ import annotations

import math

from .situation import Situation

# Left free on the GPU: NCCL buffers, graph pools and fragments grow after the start.
MARGIN_BYTES = 2 * 2**30
# Above this share, what is beside the pool runs out of memory (vllm.md 6.2).
HIGHEST_SHARE = 0.95


def block_bytes(case: Situation) -> float:
    """Bytes of a block on one GPU; NaN where the log did not tell."""
    pool, blocks = case.state.configuration.kv_cache_bytes, case.limit("num_gpu_blocks")
    return pool / blocks if pool and blocks > 0 else math.nan


def free_bytes(case: Situation) -> float:
    """Free memory of the fullest GPU, NaN where no GPU was sampled."""
    gpu = case.state.gpu
    free = gpu.mem_total_bytes - gpu.mem_used_bytes if gpu is not None else math.nan
    return free if math.isfinite(free) else math.nan


def blocks_without_override(case: Situation) -> float:
    """Blocks that the profile run would find: the bytes that were asked for, or the share of the GPU that is not used."""
    asked = case.setup.number("kv_cache_memory_bytes")
    if asked:
        return asked / block_bytes(case)
    gpu, share = case.state.gpu, case.limit("gpu_memory_utilization")
    pool = case.state.configuration.kv_cache_bytes
    if gpu is None or not pool or not math.isfinite(share):
        return math.nan
    beside = gpu.mem_used_bytes - pool
    return (share * gpu.mem_total_bytes - beside) / block_bytes(case)


def higher_share(case: Situation) -> float:
    """The memory share that free memory allows, in hundredths; NaN where it cannot be said."""
    gpu, share = case.state.gpu, case.limit("gpu_memory_utilization")
    if gpu is None or not gpu.mem_total_bytes > 0:
        return math.nan
    highest = share + max((free_bytes(case) - MARGIN_BYTES) / gpu.mem_total_bytes, 0.0)
    return math.floor(100 * min(highest, HIGHEST_SHARE) + 1e-9) / 100 if math.isfinite(highest) else math.nan

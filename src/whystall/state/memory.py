"""Where one GPU's memory went, from the log and NVML."""

from __future__ import annotations

import math

from whystall.model.diagnosis import GpuMemory, MemoryPart
from whystall.model.engine_state import EngineState
from whystall.model.text import Text

_LABELS = {
    "weights": Text("weights", "权重"),
    "kv": Text("KV cache", "KV 缓存"),
    "graphs": Text("CUDA graphs", "CUDA graph"),
    "other": Text("activations, NCCL, context, other processes", "激活、NCCL、上下文及其他进程"),
    "free": Text("free", "空闲"),
}


def gpu_memory(state: EngineState) -> GpuMemory | None:
    """Weights, KV, graphs as the log reports them, the rest of what is used, and what is free; None without either source."""
    configuration, gpu = state.configuration, state.gpu
    if configuration.device == "cpu":
        return None  # its pool lies in the host's memory
    reported = {
        "weights": configuration.weights_bytes,
        "kv": configuration.kv_cache_bytes,
        "graphs": configuration.graph_bytes,
    }
    parts = [MemoryPart(k, float(v), "reported", _LABELS[k]) for k, v in reported.items() if v]
    total = gpu.mem_total_bytes if gpu is not None and math.isfinite(gpu.mem_total_bytes) else None
    used = gpu.mem_used_bytes if gpu is not None and math.isfinite(gpu.mem_used_bytes) else None
    if not parts and total is None:
        return None
    if used is not None:
        # The log names what vLLM planned; what NVML shows above that is everything else on the card.
        other = max(used - sum(part.bytes for part in parts), 0.0)
        parts.append(MemoryPart("other", other, "inferred", _LABELS["other"]))
    if total is not None and used is not None:
        parts.append(MemoryPart("free", max(total - used, 0.0), "reported", _LABELS["free"]))
    return GpuMemory(total_bytes=total, parts=tuple(parts))

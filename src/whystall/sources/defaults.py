"""vLLM's own defaults, filled in where the user set nothing and device and version are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from whystall.model.recording import LogLine, Recording

from .dialects import vllm_defaults
from .dialects.vllm_defaults import BatchDefault
from .setting import Setting, flag, number, text, whole
from .start_up import memory_of

_SOURCE = "default"


def add_defaults(
    found: dict[str, Setting],
    flags: Mapping[str, str],
    set_known: bool,
    recording: Recording,
    log: Sequence[LogLine],
) -> None:
    """Adds device, batch limits and the memory share to ``found``, which already holds all that was reported.

    ``set_known`` says that the user's flags were seen: without them a limit may have been set by a flag, so no default
    is taken for it.
    """
    if "device" not in found and (device := _device(recording, log)):
        found["device"] = Setting(device, "log" if log else "metrics")
    version = _numbers(text(found, "version") or text(found, "version_since"))
    if not set_known:
        return
    default = _batch_default(found, flags, recording, log, version)
    if default is not None:
        _add_batch(found, flags, default)
    share = vllm_defaults.gpu_memory_utilization(version)
    if share is not None and text(found, "device") in ("cuda", "rocm"):
        found.setdefault("gpu_memory_utilization", Setting(str(share), _SOURCE))


def _batch_default(
    found: Mapping[str, Setting],
    flags: Mapping[str, str],
    recording: Recording,
    log: Sequence[LogLine],
    version: tuple[int, ...],
) -> BatchDefault | None:
    device = text(found, "device")
    if device == "cpu":
        world = (whole(found, "tensor_parallel_size") or 1) * (whole(found, "pipeline_parallel_size") or 1)
        return vllm_defaults.cpu_default(world, version)
    if device not in ("cuda", "rocm"):
        return None
    name = next((name for name in recording.gpu.name if name), "") if recording.gpu else ""
    default = vllm_defaults.gpu_default(_gpu_bytes(recording) or memory_of(log).device_bytes, name, version)
    logged = number(found, "max_num_batched_tokens")
    if default is None and logged and "max_num_batched_tokens" not in flags and "performance_mode" not in flags:
        return vllm_defaults.BY_TOKENS.get(int(logged)) if version >= vllm_defaults.SINCE else None
    return default


def _add_batch(found: dict[str, Setting], flags: Mapping[str, str], default: BatchDefault) -> None:
    """The rules of vLLM for what the user left open, in its order."""
    tokens, seqs = float(default.tokens), float(default.seqs)
    if flags.get("performance_mode") == "throughput":
        tokens, seqs = 2 * tokens, 2 * seqs
    length = number(found, "max_model_len")
    if flag(found, "enable_chunked_prefill") is False and length:
        tokens = max(tokens, length)
    seqs = number(found, "max_num_seqs") or seqs
    if length:
        tokens = min(tokens, seqs * length)
    tokens = number(found, "max_num_batched_tokens") or tokens
    found.setdefault("max_num_batched_tokens", Setting(f"{tokens:.0f}", _SOURCE))
    found.setdefault("max_num_seqs", Setting(f"{min(seqs, tokens):.0f}", _SOURCE))


def _device(recording: Recording, log: Sequence[LogLine]) -> str:
    """By the KV size line, or by the GPU that was sampled. "GPU" alone is CUDA or ROCm, so it needs a name."""
    if any(" CPU KV cache size: " in f" {line.text}" for line in log):
        return "cpu"
    names = " ".join(set(recording.gpu.name)).lower() if recording.gpu else ""
    if "nvidia" in names or re.search(r"\b(?:a100|h100|h200|b200|l4|l40s|a10|t4)\b", names):
        return "cuda"
    return "rocm" if "amd" in names or "mi3" in names else ""


def _gpu_bytes(recording: Recording) -> float | None:
    if recording.gpu is None:
        return None
    seen = recording.gpu.mem_total_bytes[np.isfinite(recording.gpu.mem_total_bytes)]
    return float(seen.max()) if len(seen) else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,6}", version.partition("+")[0])[:3])

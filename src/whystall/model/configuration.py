"""How a server was started, as far as its log, ``/server_info``, its pages or its arguments say."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from .diagnosis import Limit


class Configuration(msgspec.Struct, frozen=True):
    """The configuration of one server. None and "" mean that nothing said so.

    ``flags`` holds what the operator set, by the flag's name without dashes and with underscores (``max_num_seqs``),
    as text. ``limits`` may hold max_num_seqs, max_num_batched_tokens, num_gpu_blocks, num_gpu_blocks_override,
    block_size, max_model_len, max_num_queued_reqs, max_num_queued_tokens, long_prefill_token_threshold,
    kv_cache_tokens, gpu_memory_utilization.
    """

    version: str = ""
    model: str = ""
    flags: dict[str, str] = {}
    limits: tuple[Limit, ...] = ()
    device: str = ""  # cuda, rocm, cpu, xpu, tpu
    gpu_name: str = ""
    dtype: str = ""
    kv_cache_dtype: str = ""
    quantization: str = ""
    attention_backend: str = ""
    enforce_eager: bool | None = None
    prefix_caching: bool | None = None
    chunked_prefill: bool | None = None
    async_scheduling: bool | None = None
    scheduling_policy: str = ""
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    api_server_count: int | None = None
    speculative: bool | None = None
    lora: bool | None = None
    profiler: str = ""  # the profiler that the server was started with
    weights_bytes: float | None = None  # per GPU, from "Model loading took"
    kv_cache_bytes: float | None = None  # per GPU, from "Available KV cache memory"
    graph_bytes: float | None = None  # CUDA graph pool
    max_graph_batch: int | None = None  # largest captured batch; steps above it run without a graph

    def limit(self, name: str) -> Limit | None:
        return next((limit for limit in self.limits if limit.name == name), None)


class LogEvent(msgspec.Struct, frozen=True):
    """A line that says something happened: an id such as ``profiler_start``, when, and its number if it has one."""

    id: str
    t: float | None
    text: str
    value: float | None = None


class Start(msgspec.Struct, frozen=True):
    """One start of the server as its log tells it. Seconds are what a line says of a phase, None where none does.

    ``begun`` and ``ready`` are unix seconds: the first line of the start, and the one that says that it serves.
    """

    begun: float | None = None
    ready: float | None = None
    version: str = ""
    flags: dict[str, str] | None = None  # None: no line told them
    loading_s: float | None = None
    compile_s: float | None = None
    init_s: float | None = None  # profile, KV cache and warm-up, compilation included
    weights_bytes: float | None = None
    warned: tuple[str, ...] = ()  # ids of the warnings that its lines gave
    phase: str = ""  # what the last line of a start that is not ready was about: download, load, compile, capture


class SettingShift(msgspec.Struct, frozen=True):
    """A setting that a restart changed. ``t`` is when the new value was first seen, unix seconds."""

    name: str
    before: str | None
    after: str | None
    t: float


class IterationColumns(msgspec.Struct, frozen=True):
    """Scheduled work by step, from ``--enable-logging-iteration-details``; all columns have the same length."""

    t: NDArray[np.float64]
    engine: tuple[str, ...]
    context_requests: NDArray[np.float64]
    context_tokens: NDArray[np.float64]
    generation_requests: NDArray[np.float64]
    generation_tokens: NDArray[np.float64]
    elapsed_s: NDArray[np.float64]
    kv_usage_ratio: NDArray[np.float64]
    dummy: NDArray[np.float64] | None = None  # 1 for a step without work of its own, in lockstep with other ranks

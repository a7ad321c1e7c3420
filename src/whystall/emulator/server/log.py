"""The server's log: the lines that vLLM writes at its start, every ten seconds, and when something happens."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime
from typing import IO, Protocol

from whystall.emulator.engine.options import EngineOptions
from whystall.emulator.engine.profile import StepProfile

PROFILED_BLOCK = 16  # tokens of the blocks that a profile counts
INTERVAL_S = 10.0
_API, _CORE = "APIServer", "EngineCore"
_PIDS = {_API: 101, _CORE: 202}
_GIB = 1024**3


class Counts(Protocol):
    """What a statistics line reads of one engine."""

    running: int
    waiting: int
    deferred: int
    usage_ratio: float


class LogWriter:
    """Writes lines with emulated times to ``sink`` (None: keeps the last ones only, for who asks)."""

    def __init__(self, sink: IO[str] | None, device: str = "GPU") -> None:
        self.sink = sink
        self.device = device
        self.recent: deque[str] = deque(maxlen=2000)
        self._before: dict[int, tuple[float, float, float, float]] = {}

    def line(
        self, t: float, text: str, *, process: str = _API, level: str = "INFO", place: str = "loggers.py:335"
    ) -> None:
        stamp = datetime.fromtimestamp(t, tz=UTC).strftime("%m-%d %H:%M:%S")
        self.raw(f"({process} pid={_PIDS.get(process, 303)}) {level} {stamp} [{place}] {text}")

    def raw(self, line: str) -> None:
        self.recent.append(line)
        if self.sink is not None:
            self.sink.write(line + "\n")
            self.sink.flush()

    def starting(
        self, t: float, version: str, options: EngineOptions, profile: StepProfile, flags: dict[str, object]
    ) -> None:
        """What a server says of its configuration before it reads the weights."""
        self.line(t, f"non-default args: {flags!r}", place="api_utils.py:286")
        self.line(t, f"Using max model len {options.max_model_len}", place="model.py:2152")
        if options.enable_chunked_prefill:
            text = f"Chunked prefill is enabled with max_num_batched_tokens={options.max_num_batched_tokens}."
            self.line(t, text, place="scheduler.py:308")
        if options.async_scheduling:
            self.line(t, "Asynchronous scheduling is enabled.", place="vllm.py:1109")
        self.line(t, _initializing(version, options, profile, flags), process=_CORE, place="core.py:133")

    def loaded(self, t: float, profile: StepProfile, seconds: float) -> None:
        """The weights are read, which took ``seconds``."""
        text = f"Model loading took {profile.weights_bytes / _GIB:.2f} GiB memory and {seconds:.6f} seconds"
        self.line(t, text, process=_CORE, place="model_runner.py:425")

    def started(self, t: float, options: EngineOptions, profile: StepProfile, flags: dict[str, object]) -> None:
        """What a server says of its memory and graphs, and that it serves."""
        tokens = options.num_gpu_blocks * options.block_size
        kv_bytes = tokens * profile.kv_token_bytes
        found = profile.kv_blocks * PROFILED_BLOCK // options.block_size
        if "num_gpu_blocks_override" in flags and found:  # what was found is told, and what is taken of it
            kv_bytes = found * options.block_size * profile.kv_token_bytes
        self.line(t, f"Available KV cache memory: {kv_bytes / _GIB:.2f} GiB", process=_CORE, place="gpu_worker.py:760")
        if "num_gpu_blocks_override" in flags and found:
            text = f"Overriding num_gpu_blocks={found} with num_gpu_blocks_override={options.num_gpu_blocks}"
            self.line(t, text, process=_CORE, place="kv_cache_utils.py:2620")
        size = f"{self.device} KV cache size: {tokens:,} tokens, Maximum concurrency for {options.max_model_len:,} "
        size += f"tokens per request: {tokens / options.max_model_len:.2f}x"
        self.line(t, size, process=_CORE, place="kv_cache_utils.py:2328")
        if profile.max_graph_tokens:
            self.line(
                t, "Graph capturing finished in 8 secs, took 0.60 GiB", process=_CORE, place="model_runner.py:1128"
            )
        took = "init engine (profile, create kv cache, warmup model) took 30.00 s"
        self.line(t, took, process=_CORE, place="core.py:403")
        self.raw("INFO:     Application startup complete.")

    def statistics(
        self,
        t: float,
        engine: int,
        counts: Counts,
        computed: float,
        generated: float,
        preemptions: float,
        hit_ratio: float | None,
    ) -> None:
        """The periodic line of one engine; the numbers are totals, of which it shows the rates since the last line."""
        before = self._before.get(engine, (t - INTERVAL_S, 0.0, 0.0, 0.0))
        seconds = max(t - before[0], 1e-9)
        self._before[engine] = (t, computed, generated, preemptions)
        parts = [
            f"Engine {engine:03}: Avg prompt throughput: {(computed - before[1]) / seconds:.1f} tokens/s",
            f"Avg generation throughput: {(generated - before[2]) / seconds:.1f} tokens/s",
            f"Running: {counts.running} reqs",
            f"Waiting: {counts.waiting - counts.deferred} reqs",
        ]
        if counts.deferred:
            parts.append(f"Deferred: {counts.deferred} reqs")
        if preemptions > before[3]:
            parts.append(f"Preemptions: {round(preemptions - before[3])}")
        parts.append(f"{self.device} KV cache usage: {100 * counts.usage_ratio:.1f}%")
        if hit_ratio is not None:
            parts.append(f"Prefix cache hit rate: {100 * hit_ratio:.1f}%")
        self.line(t, ", ".join(parts))

    def access(self, method: str, path: str, status: int, reason: str) -> None:
        self.raw(f'INFO:     127.0.0.1:0 - "{method} {path} HTTP/1.1" {status} {reason}')


def loading_seconds(profile: StepProfile) -> float:
    """How long the weights of a model take to read from a local disk."""
    return 2.0 + profile.weights_bytes / 6e9


def _initializing(version: str, options: EngineOptions, profile: StepProfile, flags: dict[str, object]) -> str:
    eager = not profile.max_graph_tokens
    return (
        f"Initializing a V1 LLM engine (v{version}) with config: model='{profile.model}', dtype=torch.bfloat16, "
        f"max_seq_len={options.max_model_len}, tensor_parallel_size={profile.tensor_parallel}, "
        f"pipeline_parallel_size=1, data_parallel_size=1, enforce_eager={eager}, "
        f"kv_cache_dtype={flags.get('kv_cache_dtype', 'auto')}, "
        f"enable_prefix_caching={options.enable_prefix_caching}, "
        f"enable_chunked_prefill={options.enable_chunked_prefill}"
    )

"""How a server was started, from everything that says something of it.

Each source gives settings by vLLM's own field names; the first of these that has one wins: ``/server_info``, the log,
the command line, the metrics page and ``/v1/models``, and last vLLM's defaults where device and version are known.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from whystall.model.configuration import Configuration
from whystall.model.diagnosis import Limit
from whystall.model.recording import LogLine, Recording, SeriesKey

from . import start_up
from .arguments import read_arguments
from .defaults import add_defaults
from .dialects import guess_version, quantity, vllm_settings
from .literal import numbers, settings
from .setting import Setting, flag, number, text, whole

_INFO = "cache_config_info"


def read_configuration(recording: Recording) -> Configuration:
    """The configuration of the server that was recorded. What nothing says is None or ""; nothing is guessed."""
    log = start_up.last_start(recording.log, _end(recording))
    argv = read_arguments(recording.argv or _command(log))
    args = start_up.user_args(log)
    sources: list[tuple[str, Mapping[str, str]]] = [
        ("server_info", _server_info(recording.server_info)),
        ("log", start_up.settings_of(log)),
        ("argv", argv),
        ("metrics", _metrics(recording)),
        ("metrics", _models(recording.models)),
    ]
    found: dict[str, Setting] = {}
    for source, values in sources:
        for name, value in values.items():
            found.setdefault(name, Setting(value, source))
    found = _with_version(found, recording)
    flags = {**argv, **args}
    set_known = bool(argv) or start_up.args_seen(log)
    add_defaults(found, flags, set_known=set_known, recording=recording, log=log)
    return _configuration(found, flags, set_known, recording, log)


def blocks_by_engine(recording: Recording) -> dict[str, float]:
    """``num_gpu_blocks`` of each ``engine`` label ("" where there is none), as the page last had it."""
    blocks: dict[str, float] = {}
    for key in _info_keys(recording):
        value = key.label("num_gpu_blocks")
        if value.isdigit():
            blocks[key.label("engine")] = float(value)
    return blocks


def _configuration(
    found: Mapping[str, Setting], flags: dict[str, str], set_known: bool, recording: Recording, log: Sequence[LogLine]
) -> Configuration:
    memory = start_up.memory_of(log)
    return Configuration(
        version=text(found, "version"),
        model=text(found, "model"),
        flags=flags,
        limits=_limits(found),
        device=text(found, "device"),
        gpu_name=next((name for name in recording.gpu.name if name), "") if recording.gpu else "",
        dtype=text(found, "dtype").removeprefix("torch."),
        kv_cache_dtype=text(found, "kv_cache_dtype"),
        quantization=text(found, "quantization"),
        attention_backend=text(found, "attention_backend"),
        enforce_eager=flag(found, "enforce_eager"),
        prefix_caching=flag(found, "enable_prefix_caching"),
        chunked_prefill=flag(found, "enable_chunked_prefill"),
        async_scheduling=flag(found, "async_scheduling"),
        scheduling_policy=text(found, "scheduling_policy"),
        tensor_parallel=whole(found, "tensor_parallel_size"),
        pipeline_parallel=whole(found, "pipeline_parallel_size"),
        data_parallel=whole(found, "data_parallel_size"),
        api_server_count=whole(found, "api_server_count"),
        speculative=_has(found, set_known, "speculative_config", "spec_method"),
        lora=_adapters_on_page(recording) or _has(found, set_known, "lora_config", "enable_lora"),
        profiler=text(found, "profiler") or text(found, "profiler_config.profiler"),
        weights_bytes=memory.weights_bytes,
        kv_cache_bytes=_kv_bytes(memory, found),
        graph_bytes=memory.graph_bytes,
        max_graph_batch=_largest_graph(found),
    )


def _kv_bytes(memory: start_up.Memory, found: Mapping[str, Setting]) -> float | None:
    """Bytes of the KV pool a GPU: what was available or asked for, less what an override of the blocks leaves unused."""
    available = memory.kv_cache_bytes or number(found, "kv_cache_memory_bytes")
    return available * memory.kv_share if available else None


def _limits(found: Mapping[str, Setting]) -> tuple[Limit, ...]:
    limits = []
    for name, setting in vllm_settings.LIMITS.items():
        value = number(found, setting)
        if value is not None and value > 0:
            source = found[setting].source
            limits.append(Limit(name, value, "default" if source == "default" else "reported", source))
    return tuple(limits)


def _has(found: Mapping[str, Setting], set_known: bool, *names: str) -> bool | None:
    """Whether a subsystem is on: None where neither the configuration nor the user's flags were seen."""
    for name in names:
        if name in found:
            return found[name].value not in ("False", "false", "None", "null")
    return False if set_known else None


def _adapters_on_page(recording: Recording) -> bool | None:
    """True where the page has seats for LoRA adapters (``lora_requests_info``); without, it says nothing."""
    seats = (key.label("max_lora") for key in recording.metrics.keys if key.name.endswith("lora_requests_info"))
    return True if any(seat not in ("", "0") for seat in seats) else None


def _largest_graph(found: Mapping[str, Setting]) -> int | None:
    """The largest captured batch; None with eager execution, where nothing is captured."""
    if flag(found, "enforce_eager"):
        return None
    sizes = numbers(text(found, "cudagraph_capture_sizes"))
    largest = max(sizes, default=0.0) or number(found, "max_cudagraph_capture_size")
    return int(largest) if largest else None


def _with_version(found: dict[str, Setting], recording: Recording) -> dict[str, Setting]:
    """``/version`` answers for the running server; ``version_since`` is what the page's names allow at least."""
    if recording.version:
        found["version"] = Setting(_version(recording.version), "server_info")
    since = guess_version(key.name for key in recording.metrics.keys).since
    if since:
        found["version_since"] = Setting(since, "metrics")
    return found


def _version(body: str) -> str:
    """A version alone, or the body of ``/version``."""
    if body.lstrip()[:1] != "{":
        return body.strip()
    answer = _decoded(body)
    return str(answer.get("version", "")) if isinstance(answer, dict) else ""


def _server_info(body: str) -> dict[str, str]:
    """Both forms: ``{"vllm_config": "model=…, dtype=…"}`` and ``{"vllm_config": {"model_config": {…}, …}}``."""
    answer = _decoded(body)
    config = answer.get("vllm_config") if isinstance(answer, dict) else None
    if isinstance(config, str):
        return start_up.with_budget(start_up.engine_settings(settings(config)))
    if not isinstance(config, dict):
        return {}
    found: dict[str, str] = {}
    for place, name in vllm_settings.SERVER_INFO.items():
        section, _, field = place.partition(".")
        value = config.get(section)
        if field:
            value = value.get(field) if isinstance(value, dict) else None
        elif section in config:
            value = str(value is not None)
        if value is not None:
            found.setdefault(name, str(value))
    return found


def _models(body: str) -> dict[str, str]:
    answer = _decoded(body)
    models = answer.get("data") if isinstance(answer, dict) else None
    first = models[0] if isinstance(models, list) and models and isinstance(models[0], dict) else {}
    names = {"max_model_len": "max_model_len", "root": "model"}
    return {ours: str(first[theirs]) for theirs, ours in names.items() if first.get(theirs)}


def _metrics(recording: Recording) -> dict[str, str]:
    """Labels of ``cache_config_info``; where engines differ in blocks, the fewest."""
    found: dict[str, str] = {}
    for key in _info_keys(recording):
        labels = dict(key.labels)
        for label, name in vllm_settings.CACHE_LABELS.items():
            value = labels.get(label, "None")
            if value != "None":
                found[name] = min(found.get(name, value), value, key=_as_number) if name == "num_gpu_blocks" else value
    served = next((key.label("model_name") for key in recording.metrics.keys if key.label("model_name")), "")
    return found | ({"model": served} if served else {})


def _info_keys(recording: Recording) -> list[SeriesKey]:
    """The configuration series that the page had last, in its order; older ones are of an earlier start."""
    table = recording.metrics
    rows = [row for row, key in enumerate(table.keys) if (known := quantity(key.name)) and known.name == _INFO]
    if not rows or not len(table.times):
        return []
    seen = np.isfinite(table.values[rows])
    last = [int(np.flatnonzero(row)[-1]) if row.any() else -1 for row in seen]
    return [table.keys[row] for row, place in zip(rows, last, strict=True) if place == max(last)]


def _as_number(value: str) -> float:
    return float(value) if value.isdigit() else math.inf


def _command(log: Sequence[LogLine]) -> tuple[str, ...]:
    """The command line, where a launcher wrote it into the log."""
    for line in log[:50]:
        if vllm_settings.COMMAND_LINE.match(line.text):
            try:
                return tuple(shlex.split(line.text))
            except ValueError:
                return tuple(line.text.split())
    return ()


def _end(recording: Recording) -> float:
    return float(recording.metrics.times[-1]) if len(recording.metrics.times) else math.inf


def _decoded(body: str) -> Any:
    try:
        return msgspec.json.decode(body) if body.strip() else None
    except (msgspec.DecodeError, RecursionError):
        return None

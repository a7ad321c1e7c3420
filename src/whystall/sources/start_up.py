"""The start-up lines of a log: what they say of the configuration and of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from whystall.model.configuration import LogEvent
from whystall.model.recording import LogLine

from .arguments import tidy
from .dialects import vllm_settings
from .literal import numbers, settings
from .log import read_events

_BEFORE_ARGS = 12  # lines of the banner that stand before the arguments
_MAX_CHARS = 100_000
_START_LINES = 20_000  # a start writes some hundred lines; weights of large models some thousand


class Memory(msgspec.Struct, frozen=True):
    """GPU memory by part, of the rank that needs most. None where no line says so."""

    weights_bytes: float | None = None
    kv_cache_bytes: float | None = None
    kv_share: float = 1.0  # of the available KV bytes that an override of the blocks leaves in use
    graph_bytes: float | None = None
    device_bytes: float | None = None


def last_start(log: Sequence[LogLine], end: float) -> Sequence[LogLine]:
    """The lines of the last start that began before ``end`` (unix seconds), so of the server that was recorded."""
    begins = [number for number, line in enumerate(log) if is_args(line.text) and (line.t is None or line.t <= end)]
    start = max(0, begins[-1] - _BEFORE_ARGS) if begins else 0
    return log[start : start + _START_LINES]


def user_args(log: Sequence[LogLine]) -> dict[str, str]:
    """What the operator set, from ``non-default args``; {} where the line is missing."""
    for line in log:
        _, found, rest = line.text.partition(vllm_settings.ARGS_LINE)
        if found and rest.startswith("{"):
            return tidy(settings(rest[1:].rstrip().removesuffix("}"), ":"))
    return {}


def args_seen(log: Sequence[LogLine]) -> bool:
    """Whether the operator's arguments were repeated, even if there were none: then all others are the defaults."""
    return any(vllm_settings.ARGS_LINE + "{" in line.text for line in log)


def _all_args(log: Sequence[LogLine]) -> dict[str, str]:
    """Every argument with its value, set or not, as versions up to 0.8 wrote them."""
    for line in log:
        _, found, rest = line.text[:_MAX_CHARS].partition(vllm_settings.ARGS_LINE_OLD)
        if found:
            return tidy(settings(rest.rstrip().removesuffix(")")))
    return {}


def is_args(text: str) -> bool:
    """Whether a line is the one that repeats the operator's arguments: with it a start begins."""
    return vllm_settings.ARGS_LINE in text or vllm_settings.ARGS_LINE_OLD in text


def settings_of(log: Sequence[LogLine]) -> dict[str, str]:
    """Everything that the start-up lines say, by vLLM's field names. What was found later in the start wins."""
    found = _all_args(log) | user_args(log)
    for line in log:
        if (version := vllm_settings.VERSION_LINE.search(line.text[:200])) is not None:
            found["version"] = version[1]
        if (engine := vllm_settings.ENGINE_LINE.match(line.text)) is not None:
            found["version"] = engine[1]
            found |= engine_settings(settings(line.text[engine.end() :]))
    return with_budget(found | _spoken(log))


def engine_settings(found: Mapping[str, str]) -> dict[str, str]:
    """Settings of the engine's own text by the names that the rest uses."""
    named = tidy({vllm_settings.TEXT.get(name, name): value for name, value in found.items() if not _is_list(name)})
    device = named.get("device", "")
    if device:
        named["device"] = next((known for known in vllm_settings.DEVICES if known in device.lower()), "")
    return {name: value for name, value in named.items() if value}


def with_budget(found: dict[str, str]) -> dict[str, str]:
    """With the token budget where nothing else names it: the compiled range ends there."""
    ends = numbers(found.get(vllm_settings.BUDGET, ""))
    return {"max_num_batched_tokens": f"{max(ends):.0f}"} | found if ends else found


def memory_of(log: Sequence[LogLine]) -> Memory:
    """Weights, KV cache and graphs a GPU, and the device's memory."""
    events = read_events(log)
    total = [float(m[1]) * 1024**3 for line in log if (m := vllm_settings.DEVICE_MEMORY.search(line.text))]
    return Memory(
        weights_bytes=_most(events, "model_loading"),
        kv_cache_bytes=_most(events, "kv_memory"),
        kv_share=next((share for line in log if (share := _override_share(line.text)) is not None), 1.0),
        graph_bytes=_most(events, "graph_memory") or _most(events, "graph_capture"),
        device_bytes=max(total, default=None),
    )


def _override_share(text: str) -> float | None:
    """ "Overriding num_gpu_blocks=58348 with num_gpu_blocks_override=2500": the second over the first."""
    found = vllm_settings.BLOCKS_OVERRIDE.search(text)
    return int(found[2]) / int(found[1]) if found and int(found[1]) > 0 else None


def _most(events: Sequence[LogEvent], id: str) -> float | None:
    return max((event.value for event in events if event.id == id and event.value is not None), default=None)


def _spoken(log: Sequence[LogLine]) -> dict[str, str]:
    """What single lines say, the last of a kind counting: the budget, the length, the KV size, the backend."""
    names = {
        "chunked_prefill": "max_num_batched_tokens",
        "max_model_len": "max_model_len",
        "max_model_len_reduced": "max_model_len",
        "kv_size": "kv_cache_size_tokens",
        "kv_blocks": "num_gpu_blocks",
        "kv_blocks_override": "num_gpu_blocks",
    }
    found: dict[str, str] = {}
    for event in read_events(log):
        if event.id in names and event.value is not None:
            found[names[event.id]] = f"{event.value:.0f}"
        found |= _said(event)
    front_ends = {line.process for line in log if line.process.startswith("ApiServer_")}
    return found | ({"api_server_count": str(len(front_ends))} if front_ends else {})


def _said(event: LogEvent) -> dict[str, str]:
    if event.id == "chunked_prefill":
        return {"enable_chunked_prefill": "True"}
    if event.id == "enforce_eager":
        return {"enforce_eager": "True"}
    if event.id in ("async_scheduling_on", "async_scheduling_off"):
        return {"async_scheduling": str(event.id == "async_scheduling_on")}
    if event.id == "attention_backend" and (match := vllm_settings.ATTENTION_LINE.search(event.text)):
        return {"attention_backend": match[1] or match[2]}
    if event.id == "profiler_configured" and (match := vllm_settings.PROFILER_LINE.search(event.text)):
        return {"profiler": match[1]}
    return {}


def _is_list(name: str) -> bool:
    """Names of nested fields that no setting comes from."""
    return name.count(".") > 1

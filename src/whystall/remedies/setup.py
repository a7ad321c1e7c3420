"""How a server would be started: what is known of it, with the changes made."""

from __future__ import annotations

import math
import re

import msgspec

from whystall.model.configuration import Configuration

from .version import numbers

_SUFFIX = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_NUMBER = re.compile(r"([+-]?\d{1,20}(?:\.\d{1,12})?(?:e[+-]?\d{1,2})?)([kKmMgG]?)")
_ON, _OFF = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
# What vLLM never turns on or sets by itself on a GPU: where the server reports it, somebody set it.
_ONLY_BY_FLAG = ("enforce_eager", "num_gpu_blocks_override")
# Fields of a configuration by the flag that they come from.
_FIELDS = {
    "enforce_eager": "enforce_eager",
    "enable_prefix_caching": "prefix_caching",
    "enable_chunked_prefill": "chunked_prefill",
    "async_scheduling": "async_scheduling",
    "scheduling_policy": "scheduling_policy",
    "kv_cache_dtype": "kv_cache_dtype",
    "dtype": "dtype",
    "quantization": "quantization",
    "attention_backend": "attention_backend",
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "data_parallel_size": "data_parallel",
    "api_server_count": "api_server_count",
    "enable_lora": "lora",
}


def number_of(text: str) -> float | None:
    """A number as vLLM takes it: 16384, 16k (thousands), 16K (of 1024), 0.92; None where it is none."""
    found = _NUMBER.fullmatch(text.strip())
    return float(found[1]) * _SUFFIX[found[2]] if found else None


def switch_of(text: str) -> bool | None:
    """Whether a switch's value is on; None where it says neither."""
    word = text.strip().lower()
    return True if word in _ON else False if word in _OFF else None


class Setup(msgspec.Struct, frozen=True):
    """A configuration with ``changes`` by knob id ("" removes the flag), and what else the caller knows.

    ``defaults`` are those of the version by knob id; ``facts`` numbers that no flag holds (num_attention_heads, gpus).
    """

    configuration: Configuration
    changes: dict[str, str] = {}
    defaults: dict[str, str] = {}
    facts: dict[str, float] = {}

    @property
    def version(self) -> tuple[int, ...]:
        return numbers(self.configuration.version)

    def is_set(self, name: str) -> bool | None:
        """Whether the operator sets it, changes included; None where nobody knows what was set."""
        if name in self.changes:
            return bool(self.changes[name])
        flags = self.configuration.flags
        if flags:
            return name in flags
        reported = self._reported(name) or ""
        return True if name in _ONLY_BY_FLAG and (switch_of(reported) or number_of(reported)) else None

    def text(self, name: str) -> str | None:
        """The value in force after the changes, None where it is not known."""
        if name in self.changes:
            return self.changes[name] or self.defaults.get(name)
        flags = self.configuration.flags
        for found in (self._reported(name), flags.get(name)):
            if found not in (None, "", "None"):
                return found
        return self.defaults.get(name) if flags else None

    def number(self, name: str) -> float | None:
        """The value as a number; None where it is not known or none (``auto``)."""
        if name in self.facts:
            return self.facts[name]
        found = number_of(self.text(name) or "")
        return found if found is not None and math.isfinite(found) and found >= 0 else None

    def on(self, name: str) -> bool | None:
        """Whether a switch is on, None where it is not known."""
        return switch_of(self.text(name) or "")

    def floats(self, name: str) -> bool:
        """Whether vLLM picks the value itself at the next start, so that it fits the others."""
        return self.is_set(name) is False

    def _reported(self, name: str) -> str | None:
        limit = self.configuration.limit(name)
        if limit is not None:
            return f"{limit.value:g}" if limit.value % 1 else f"{limit.value:.0f}"
        field = _FIELDS.get(name)
        value = getattr(self.configuration, field) if field else None
        return None if value is None else str(value)

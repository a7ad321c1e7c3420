"""What a form can turn: each knob that the emulator expresses, with the value in force and some to choose from."""

from __future__ import annotations

from whystall.model.configuration import Configuration
from whystall.model.dashboard import Control
from whystall.model.text import Text
from whystall.remedies.knob import Knob
from whystall.remedies.knobs import knobs
from whystall.remedies.rules import setup_of
from whystall.remedies.setup import Setup
from whystall.remedies.version import within

from .express import EXPRESSED

# In the order in which they are thought of: the batch, the cache, the steps. Others are rarer, and whatif knows them too.
_SHOWN = (
    "max_num_seqs",
    "max_num_batched_tokens",
    "gpu_memory_utilization",
    "num_gpu_blocks_override",
    "kv_cache_dtype",
    "max_model_len",
    "long_prefill_token_threshold",
    "max_num_queued_reqs",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "async_scheduling",
    "enforce_eager",
)
_SPAN = 3  # a whole number may be halved and doubled so many times
# Where the value in force is not known, as on a page alone: what servers commonly have.
_COMMON = {
    "max_num_seqs": ("16", "32", "64", "128", "256", "512", "1024"),
    "max_num_batched_tokens": ("1024", "2048", "4096", "8192", "16384", "32768"),
}
_SHARES = tuple(f"{percent / 100:g}" for percent in range(50, 99, 4))
_RATES = ("0.25", "0.5", "0.75", "1", "1.25", "1.5", "2", "3", "4")
_REPLICAS = tuple(str(count) for count in range(1, 9))
_RATE = Text("How many times as many requests come", "请求量变为当前的多少倍")
_MORE = Text("Servers of this kind that share the load", "分担负载的同类服务器数量")


def controls(configuration: Configuration) -> tuple[Control, ...]:
    """The knobs of this server's version whose value is known, commonly chosen, or one of a few."""
    setup = setup_of(configuration)
    found = (_control(knobs()[name], setup) for name in _SHOWN if name in EXPRESSED)
    return tuple(one for one in found if one is not None)


def assumptions() -> tuple[Control, ...]:
    """What is no flag."""
    return (
        Control("rate", "", "number", _RATE, "1", _RATES),
        Control("replicas", "", "whole", _MORE, "1", _REPLICAS),
    )


def _control(knob: Knob, setup: Setup) -> Control | None:
    flag = next((one.flag for one in knob.spellings if within(setup.version, one.since, one.until)), "")
    now = setup.text(knob.id) or ""
    if not flag:
        return None
    if knob.kind == "switch":
        on = setup.on(knob.id)
        return Control(knob.id, flag, "switch", knob.what, "" if on is None else str(on).lower(), ("true", "false"))
    if knob.kind == "choice":
        choices = (one.value for one in knob.legal.choices if within(setup.version, one.since, one.until))
        return Control(knob.id, flag, "choice", knob.what, now, tuple(choices))
    number = setup.number(knob.id)
    if number is None or number <= 0:
        common = _COMMON.get(knob.id)
        return Control(knob.id, flag, "whole", knob.what, "", common) if common else None
    values = _shares(number) if knob.kind == "number" else _wholes(int(number), knob)
    return Control(knob.id, flag, "number" if knob.kind == "number" else "whole", knob.what, _written(number), values)


def _wholes(now: int, knob: Knob) -> tuple[str, ...]:
    steps = {round(now * 2.0**half) for half in range(-_SPAN, _SPAN + 1)} | {now}
    return tuple(str(value) for value in sorted(steps) if value > 0 and knob.legal.holds(value))


def _shares(now: float) -> tuple[str, ...]:
    return tuple(sorted({*_SHARES, _written(now)}, key=float))


def _written(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:g}"

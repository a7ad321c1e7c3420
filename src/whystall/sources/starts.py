"""Every start of the server that its log tells of: with which flags, what its phases took, and when it served."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from whystall.model.configuration import LogEvent, Start
from whystall.model.recording import LogLine

from .dialects import vllm_settings
from .log import read_events
from .start_up import is_args, user_args

MOST_LINES = 20_000  # of one start: it writes some hundred lines, weights of large models some thousand
MOST_STARTS = 100  # a server that starts every minute has said enough
_LOADING = re.compile(r"GiB (?:memory )?and (?:took )?(\d[\d,]{0,12}(?:\.\d{1,9})?) seconds")
# What the line that came last says of where a start stands.
_PHASES = {
    "model_download": "load",
    "model_load_start": "load",
    "model_load_progress": "load",
    "weights_loaded": "load",
    "model_loading": "profile",
    "compile_time": "compile",
    "kv_memory": "capture",
    "kv_size": "capture",
    "graph_capture": "warm-up",
    "engine_ready": "warm-up",
}


# Warnings of a start: settings that do not go together, or that had to be changed.
WARNINGS = ("token_budget_exceeds", "async_scheduling_off", "max_model_len_reduced", "enforce_eager")


def starts(log: Sequence[LogLine], end: float) -> tuple[Start, ...]:
    """The starts that began before ``end`` (unix seconds), oldest first; at most the last ``MOST_STARTS``."""
    begins = [at for at, line in enumerate(log) if is_args(line.text) and (line.t is None or line.t <= end)]
    edges = [*begins[-MOST_STARTS:], len(log)]
    return tuple(_start(log[a : min(b, a + MOST_LINES)], end) for a, b in pairwise(edges))


def since(log: Sequence[LogLine], begun: Sequence[Start]) -> Sequence[LogLine]:
    """The lines of the last start and what came after it; the whole log where no start stands in it."""
    if not begun:
        return log[-MOST_LINES:]
    at = max((at for at, line in enumerate(log) if is_args(line.text)), default=0)
    return log[at : at + MOST_LINES]


def _start(lines: Sequence[LogLine], end: float) -> Start:
    events = [e for e in read_events(lines) if e.t is None or e.t <= end]
    phase = next((_PHASES[e.id] for e in reversed(events) if e.id in _PHASES), "")
    ready = next((e.t for e in events if e.id == "server_ready"), None)
    return Start(
        begun=lines[0].t,
        ready=ready,
        version=_version(lines),
        flags=user_args(lines[:1]) if vllm_settings.ARGS_LINE in lines[0].text else None,
        loading_s=_loading(events),
        compile_s=_sum(events, "compile_time"),
        init_s=_last(events, "engine_ready"),
        weights_bytes=_last(events, "model_loading"),
        warned=tuple(dict.fromkeys(e.id for e in events if e.id in WARNINGS)),
        phase="" if ready is not None else phase,
    )


def _version(lines: Sequence[LogLine]) -> str:
    found = (vllm_settings.ENGINE_LINE.match(line.text) for line in lines)
    return next((match[1] for match in found if match), "")


def _loading(events: Sequence[LogEvent]) -> float | None:
    """Of the rank that took longest."""
    found = (_LOADING.search(event.text) for event in events if event.id == "model_loading")
    return max((float(match[1].replace(",", "")) for match in found if match), default=None)


def _sum(events: Sequence[LogEvent], id: str) -> float | None:
    found = [e.value for e in events if e.id == id and e.value is not None]
    return sum(found) if found else None


def _last(events: Sequence[LogEvent], id: str) -> float | None:
    return next((e.value for e in reversed(events) if e.id == id and e.value is not None), None)

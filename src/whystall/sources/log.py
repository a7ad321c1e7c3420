"""A server's log to lines with times, and what its lines say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

from whystall.model.configuration import IterationColumns, LogEvent
from whystall.model.recording import LogLine

from .dialects import vllm_log
from .log_clock import LogAnchor, NaiveClock, offset

MAX_LINE_CHARS = 1_000_000  # longer ones are cut; the configuration lines have some thousands
_MAX_EVENT_CHARS = 2_000
_JSON_TIME = ("timestamp", "time", "asctime", "@timestamp", "ts", "created", "datetime")
_JSON_TEXT = ("message", "msg", "text", "event")
_JSON_LEVEL = ("level", "levelname", "severity", "log.level")
_JSON_PROCESS = ("process_name", "processName", "process")
_JSON_PID = ("pid", "process_id", "processId")
_PERIODIC = ("Engine 0", "Avg prompt", "Route: ")
_BEGINNINGS = ("", "(", "D", "I", "W", "E", "C")  # of a process or a level: most lines need no search
_ANSI = re.compile(r"\x1b\[[0-9;]{0,20}m")


class StatsLine(msgspec.Struct, frozen=True):
    """One periodic line. ``preemptions`` are those since the line before; NaN where the line does not say."""

    t: float | None
    engine: str
    prompt_tokens_per_s: float  # computed only: cached tokens are not in it
    generation_tokens_per_s: float
    running: float
    waiting: float
    deferred: float
    kv_usage_ratio: float
    preemptions: float
    hit_rate_ratio: float  # over the last 1,000 requests


class _Raw(msgspec.Struct):
    """A line before the log's time zone is known: ``naive`` as if it were UTC, ``t`` where the line says the zone."""

    text: str
    level: str = ""
    process: str = ""
    pid: int | None = None
    naive: float | None = None
    t: float | None = None


def read_log(lines: Iterable[str], anchor: LogAnchor) -> tuple[LogLine, ...]:
    """Lines of vLLM V1, V0 or JSON logs, and loose ones, in the file's order.

    The lines' year is missing and their time zone unknown; :mod:`whystall.sources.log_clock` says how both are found.
    """
    return read_dated_log(lines, anchor)[0]


def read_dated_log(lines: Iterable[str], anchor: LogAnchor) -> tuple[tuple[LogLine, ...], bool]:
    """As :func:`read_log`, and whether the time zone could only be fitted to the recording's end."""
    clock = NaiveClock(anchor.start)
    raw = [_raw(line[:MAX_LINE_CHARS], clock) for line in lines]
    times = [line.naive for line in raw if line.naive is not None and line.t is None]
    shift = offset(_starts(raw), times, anchor)
    return tuple(_line(line, shift.seconds if shift else None) for line in raw), shift is not None and shift.fitted


def within(lines: Sequence[LogLine], start: float, end: float) -> tuple[LogLine, ...]:
    """The lines from ``start`` to ``end`` (unix seconds); a loose line belongs to the timed line before it."""
    found, inside = [], False
    for line in lines:
        if line.t is not None:
            inside = start <= line.t <= end
        if inside:
            found.append(line)
    return tuple(found)


def read_events(lines: Iterable[LogLine]) -> tuple[LogEvent, ...]:
    """The lines that say something happened, by the table in ``dialects.vllm_log``.

    A line without a time of its own gets that of the line before it.
    """
    events, last = [], None
    for line in lines:
        last = line.t if line.t is not None else last
        if (found := _event(line)) is not None:
            pattern, value = found
            events.append(LogEvent(pattern.id, last, line.text[:_MAX_EVENT_CHARS], value))
    return tuple(events)


def read_iterations(lines: Iterable[LogLine]) -> IterationColumns | None:
    """The steps that ``--enable-logging-iteration-details`` writes; None where there are none or they have no time."""
    pairs = [(line, match) for line in lines if line.t is not None and (match := _iteration(line.text))]
    if not pairs:
        return None

    def column(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([float(match[name]) for _, match in pairs])

    return IterationColumns(
        t=np.array([line.t for line, _ in pairs], dtype=np.float64),
        engine=tuple(str(int(match["engine"])) for _, match in pairs),
        context_requests=column("context_requests"),
        context_tokens=column("context_tokens"),
        generation_requests=column("generation_requests"),
        generation_tokens=column("generation_tokens"),
        elapsed_s=column("elapsed") / 1e3,
        kv_usage_ratio=np.array([_found(vllm_log.STATS_KV, line.text, match.end(), 0.01) for line, match in pairs]),
        dummy=np.array([float(match["dummy"] is not None) for _, match in pairs]),
    )


def read_stats(lines: Iterable[LogLine]) -> tuple[StatsLine, ...]:
    """The periodic lines of every version; ``engine`` is "" for V0 and for lines over several engines."""
    found = ((line, vllm_log.STATS.match(line.text)) for line in lines if "Avg prompt throughput" in line.text[:80])
    return tuple(_stats(line, match) for line, match in found if match)


def _stats(line: LogLine, match: re.Match[str]) -> StatsLine:
    engine = match["engine"]
    return StatsLine(
        t=line.t,
        engine=str(int(engine)) if engine else "",
        prompt_tokens_per_s=float(match["prompt"]),
        generation_tokens_per_s=float(match["generation"]),
        running=float(match["running"]),
        waiting=float(match["waiting"]),
        deferred=_found(vllm_log.STATS_DEFERRED, line.text, match.end()),
        kv_usage_ratio=_found(vllm_log.STATS_KV, line.text, match.end(), 0.01),
        preemptions=_found(vllm_log.STATS_PREEMPTIONS, line.text, match.end()),
        hit_rate_ratio=_found(vllm_log.STATS_HIT_RATE, line.text, match.end(), 0.01),
    )


def _iteration(text: str) -> re.Match[str] | None:
    return vllm_log.ITERATION.match(text) if text.startswith("Engine ") else None


def _found(pattern: re.Pattern[str], text: str, start: int, unit: float = 1.0) -> float:
    match = pattern.search(text, start)
    return float(match[1]) * unit if match else float("nan")


def _event(line: LogLine) -> tuple[vllm_log.EventPattern, float | None] | None:
    text = line.text
    if ' HTTP/1.1" ' in text[-40:] or (text.startswith(_PERIODIC) and ": MFU: " not in text[:40]):
        return None  # most lines of most logs
    for pattern in vllm_log.EVENTS:
        if pattern.words in text and (pattern.also is None or pattern.also.search(text)):
            match = pattern.number.search(text) if pattern.number else None
            return pattern, _value(match, pattern.scale)
    return None


def _value(match: re.Match[str] | None, scale: float) -> float | None:
    try:
        return float(match[1].replace(",", "")) * scale if match else None
    except ValueError:  # a version is no number
        return None


def _raw(line: str, clock: NaiveClock) -> _Raw:
    line = line.rstrip("\r\n")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    first = line[:1]
    if first == "{" and (found := _json(line, clock)) is not None:
        return found
    stamped = vllm_log.STAMP.match(line) if first.isdigit() else None
    raw = _owned(from_its_start(line[stamped.end() :] if stamped else line), clock)
    if stamped:
        raw.t = _iso(stamped["iso"], None)
    return raw


def from_its_start(line: str) -> str:
    """Without the name of a pod or service that stands before vLLM's own beginning."""
    if line[:1] in _BEGINNINGS:
        return line
    begins = vllm_log.BEGINS.search(line, 0, vllm_log.BEGINS_WITHIN)
    return line[begins.end() :] if begins else line


def _owned(line: str, clock: NaiveClock) -> _Raw:
    owner = vllm_log.PROCESS.match(line) if line[:1] == "(" else None
    if owner and (inner := vllm_log.PROCESS.match(line, owner.end())):
        owner = inner  # Ray puts its worker before the engine's own process
    rest = line[owner.end() :] if owner else line
    match = vllm_log.LINE.match(rest)
    raw = _Raw(match["text"], match["level"]) if match else _loose(rest)
    if match:
        raw.naive = clock.seconds(match["time"], match["fraction"])
    if owner:
        raw.process, raw.pid = owner["process"], int(owner["pid"])
    return raw


def _loose(text: str) -> _Raw:
    match = vllm_log.UVICORN.match(text)
    return _Raw(match["text"], match["level"]) if match else _Raw(text)


def _iso(text: str, otherwise: float | None) -> float | None:
    """Unix seconds where the text says its zone; ``otherwise`` where it does not or is no time."""
    try:
        moment = datetime.fromisoformat(text.replace(",", "."))
        return moment.timestamp() if moment.tzinfo else otherwise
    except (ValueError, OverflowError):
        return otherwise


def _json(line: str, clock: NaiveClock) -> _Raw | None:
    """A JSON log line; None where it is none or has no message."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = _first(fields, _JSON_TEXT) if isinstance(fields, dict) else None
    if not isinstance(text, str):
        return None
    pid = _first(fields, _JSON_PID)
    process = _first(fields, _JSON_PROCESS)
    level = _first(fields, _JSON_LEVEL)
    raw = _Raw(text, level.upper() if isinstance(level, str) else "")
    raw.process = process if isinstance(process, str) else ""
    raw.pid = pid if isinstance(pid, int) else None
    _json_time(raw, _first(fields, _JSON_TIME), clock)
    return raw


def _json_time(raw: _Raw, found: object, clock: NaiveClock) -> None:
    if isinstance(found, int | float) and not isinstance(found, bool):
        if 0 < found < 1e14:
            raw.t = found / 1e3 if found > 1e11 else float(found)  # milliseconds are that large from 1973 on
    elif isinstance(found, str):
        raw.t = _iso(found, None)
        if raw.t is None:
            raw.naive = clock.iso(found)


def _first(fields: dict[str, Any], names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if name in fields), None)


def _starts(raw: Sequence[_Raw]) -> list[float]:
    """When the log says that a server starts. A log whose beginning was rotated away does not say so."""
    return [
        line.naive for line in raw if line.naive is not None and any(word in line.text[:80] for word in vllm_log.STARTS)
    ]


def _line(raw: _Raw, shift: float | None) -> LogLine:
    t = raw.t
    if t is None and raw.naive is not None and shift is not None:
        t = raw.naive - shift
    return LogLine(t, raw.level, raw.process, raw.pid, raw.text)

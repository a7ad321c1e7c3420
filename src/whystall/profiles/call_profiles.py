"""Python profiles (cProfile's pstats, py-spy's speedscope): how the engine loop's time splits by what it does."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whystall.errors import NotATrace
from whystall.model.text import Text

from .span_files import read_text
from .summary import Note

# A group of functions: matched against "file:function", first match wins.
GROUPS = (
    ("waiting", r"\b(poll|select|epoll|wait|wait_for|acquire|sleep|recv|recvmsg|recv_multipart|accept|futex|read_events?)\b"
     r"|_wait_for_tstate_lock|busy_loop_wait|shm_broadcast"),
    ("gc", r"\bgc\b|gc_collect|garbage"),
    ("structured_output", r"structured_output|xgrammar|outlines|guidance|grammar|bitmask|backend_(xgrammar|guidance)"),
    ("scheduler", r"sched(uler)?[/\\:.]|core/sched|kv_cache_manager|block_pool|allocate_slots|kv_cache_utils"),
    ("detokenise", r"detokeniz|decode_stream|incremental_detok|output_processor|logprobs"),
    ("tokenise", r"tokeniz|encode_batch|chat_template|input_processor|processor\.py|preprocess"),
    ("multimodal", r"multimodal|mm_processor|image|pixel"),
    ("serialise", r"msgspec|pickle|serial|json|msgpack|zmq|encode|decode"),
    ("sampling", r"sampl|logits_processor|rejection|penalt|top_k|top_p"),
    ("launch", r"cuda|torch|triton|_ops\.py|model_runner|forward|execute_model|graph|inductor|layers[/\\]|models[/\\]"),
    ("http", r"uvicorn|starlette|fastapi|asyncio|aiohttp|h11|httptools|entrypoints"),
    ("metrics", r"prometheus|metrics|stats|opentelemetry|tracing|loggers?\.py|logging"),
)  # fmt: skip
_COMPILED = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in GROUPS)
TITLES = {
    "waiting": Text("waiting", "等待"),
    "gc": Text("garbage collection", "垃圾回收"),
    "structured_output": Text("structured output", "结构化输出"),
    "scheduler": Text("scheduler", "调度器"),
    "detokenise": Text("detokenising", "反分词"),
    "tokenise": Text("tokenising", "分词"),
    "multimodal": Text("multi-modal input", "多模态输入"),
    "serialise": Text("serialisation", "序列化"),
    "sampling": Text("sampling", "采样"),
    "launch": Text("model and kernel launches", "模型与内核启动"),
    "http": Text("HTTP and event loop", "HTTP 与事件循环"),
    "metrics": Text("metrics and logging", "指标与日志"),
    "other": Text("other", "其他"),
}
_MAX_DEPTH = 8  # of a marshalled profile: it nests four deep


class GroupTime(msgspec.Struct, frozen=True):
    """A group of functions; ``share`` is of all time, ``busy_share`` of the time not spent waiting."""

    id: str
    title: Text
    seconds: float
    share: float
    busy_share: float | None


class FunctionTime(msgspec.Struct, frozen=True):
    name: str
    group: str
    seconds: float
    share: float
    calls: int | None


class CallSummary(msgspec.Struct, frozen=True):
    """Own time of functions. ``unit`` is ``seconds``, or ``samples`` where the file has no time per sample."""

    format: str
    unit: str
    total: float
    groups: tuple[GroupTime, ...]
    functions: tuple[FunctionTime, ...]
    notes: tuple[Note, ...] = ()


def group_of(function: str) -> str | None:
    """The group of ``file:function``; None where no pattern matches."""
    return next((name for name, pattern in _COMPILED if pattern.search(function[:1024])), None)


def summarise_calls(own: dict[tuple[str, str], tuple[float, int | None]], format: str, unit: str) -> CallSummary:
    """From own time and calls by (function, group)."""
    total = sum(seconds for seconds, _ in own.values())
    groups: dict[str, float] = {}
    for (_, group), (seconds, _) in own.items():
        groups[group] = groups.get(group, 0.0) + seconds
    busy = total - groups.get("waiting", 0.0)
    rows = [
        GroupTime(id, TITLES[id], value, value / total if total else 0.0, _busy(id, value, busy))
        for id, value in groups.items()
    ]
    functions = [
        FunctionTime(name, group, seconds, seconds / total if total else 0.0, calls)
        for (name, group), (seconds, calls) in own.items()
    ]
    return CallSummary(
        format=format,
        unit=unit,
        total=total,
        groups=tuple(sorted(rows, key=lambda row: -row.seconds)),
        functions=tuple(sorted(functions, key=lambda row: -row.seconds)[:40]),
        notes=(Note("tracing_costs", "fact", _TRACED),) if format == "pstats" else (),
    )


def _busy(id: str, value: float, busy: float) -> float | None:
    return value / busy if id != "waiting" and busy > 0 else None


_TRACED = Text(
    "cProfile slows small functions more than large ones: shares of many small calls are too high. py-spy does not.",
    "cProfile 对小函数的拖慢更大：大量小调用的占比会偏高。py-spy 没有这个问题。",
)


# speedscope


class _Frame(msgspec.Struct):
    name: str = ""
    file: str | None = None


class _Shared(msgspec.Struct):
    frames: list[_Frame] = []


class _Profile(msgspec.Struct):
    type: str = "sampled"
    unit: str = "none"
    samples: list[list[int]] = []
    weights: list[float] = []
    events: list[dict[str, Any]] = []
    name: str = ""


class _Speedscope(msgspec.Struct):
    shared: _Shared = msgspec.field(default_factory=_Shared)
    profiles: list[_Profile] = []


_UNITS_S = {"seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6, "nanoseconds": 1e-9}


def read_speedscope(path: Path) -> CallSummary:
    """py-spy's ``--format speedscope``: each sample counts for the innermost frame that has a group."""
    try:
        body = msgspec.json.decode(read_text(path), type=_Speedscope)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotATrace(f"{path.name} looks like speedscope but is not whole: {error}", "Record it again.") from error
    frames = [f"{frame.file or ''}:{frame.name}" for frame in body.shared.frames]
    groups = [group_of(frame) for frame in frames]
    timed = all(profile.unit in _UNITS_S for profile in body.profiles)
    own: dict[tuple[str, str], tuple[float, int | None]] = {}
    for profile in body.profiles:
        for stack, weight in _stacks(profile):
            known = [index for index in stack if 0 <= index < len(frames)]
            if known:
                group = next((found for index in reversed(known) if (found := groups[index])), "other")
                key = (frames[known[-1]], group)
                own[key] = (own.get(key, (0.0, None))[0] + weight * (_UNITS_S[profile.unit] if timed else 1.0), None)
    if not own:
        raise NotATrace(f"{path.name} holds no samples", "Record longer, or with more rights: py-spy needs ptrace.")
    return summarise_calls(own, "speedscope", "seconds" if timed else "samples")


def _stacks(profile: _Profile) -> Iterator[tuple[Sequence[int], float]]:
    if profile.type != "evented":
        weights = profile.weights if len(profile.weights) == len(profile.samples) else [1.0] * len(profile.samples)
        yield from zip(profile.samples, weights, strict=True)
        return
    stack: list[int] = []
    before = 0.0
    for event in profile.events:
        at, frame = event.get("at"), event.get("frame")
        if not isinstance(at, int | float) or not isinstance(frame, int):
            continue
        if stack and at > before:
            yield tuple(stack), at - before
        before = float(at)
        if event.get("type") == "O":
            stack.append(frame)
        elif stack:
            stack.pop()


# pstats


def read_pstats(path: Path) -> CallSummary:
    """What ``cProfile`` dumps. The file is marshalled; only the kinds of value that a profile has are read, by our own
    reader, because Python's own may crash on damaged or hostile bytes."""
    table = parse_marshal(read_text(path))
    own: dict[tuple[str, str], tuple[float, int | None]] = {}
    for key, value in table.items() if isinstance(table, dict) else ():
        if _is_entry(key, value):
            file, line, name = key
            function = f"{file}:{name}" if file != "~" else name
            label = f"{file}({line}):{name}" if file != "~" else name
            own[label, group_of(function) or "other"] = (value[2], value[1])
    if not own:
        raise NotATrace(f"{path.name} is not a cProfile dump", "Write it with cProfile's dump_stats, or use py-spy.")
    return summarise_calls(own, "pstats", "seconds")


def _is_entry(key: object, value: object) -> bool:
    return (
        isinstance(key, tuple)
        and len(key) == 3
        and isinstance(key[0], str)
        and isinstance(key[2], str)
        and isinstance(value, tuple)
        and len(value) >= 4
        and isinstance(value[1], int)
        and isinstance(value[2], float)
    )


class _Damaged(Exception):
    """The bytes are no marshalled profile. Never leaves this module."""


def parse_marshal(data: bytes) -> object:
    """A marshalled value of dicts, tuples, text and numbers; None where the bytes hold anything else or break off."""
    try:
        return _Marshal(data).value(0)
    except (_Damaged, struct.error, IndexError, UnicodeDecodeError, ValueError, TypeError):
        return None


_NULL = object()


class _Marshal:
    """The subset of Python's marshal format, version 4, that a cProfile dump is written in."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.refs: list[object] = []

    def _take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise _Damaged
        self.at += count
        return self.data[self.at - count : self.at]

    def _int(self) -> int:
        return int(struct.unpack("<i", self._take(4))[0])

    def value(self, depth: int) -> object:
        if depth > _MAX_DEPTH:
            raise _Damaged
        code = self._take(1)[0]
        kind, flagged = chr(code & 0x7F), bool(code & 0x80)
        if kind == "r":
            return self.refs[self._int()]
        place = len(self.refs)
        if flagged:
            self.refs.append(None)
        found = self._of_kind(kind, depth)
        if flagged:
            self.refs[place] = found
        return found

    def _of_kind(self, kind: str, depth: int) -> object:
        if kind in _SINGLE:
            return _SINGLE[kind]
        if kind == "i":
            return self._int()
        if kind == "g":
            return float(struct.unpack("<d", self._take(8))[0])
        if kind in "zZ":
            return self._take(self._take(1)[0]).decode("ascii")
        if kind in "aAut":
            return self._take(self._int()).decode("utf-8", "surrogatepass")
        if kind == "l":
            return self._long()
        if kind in "()":
            count = self._take(1)[0] if kind == ")" else self._int()
            return tuple(self.value(depth + 1) for _ in range(min(count, len(self.data))))
        if kind == "{":
            return self._dict(depth)
        raise _Damaged

    def _long(self) -> int:
        count = self._int()
        digits = [int(struct.unpack("<H", self._take(2))[0]) for _ in range(min(abs(count), 8))]
        number = sum(digit << (15 * place) for place, digit in enumerate(digits))
        return -number if count < 0 else number

    def _dict(self, depth: int) -> dict[Any, object]:
        found: dict[Any, object] = {}
        while (key := self.value(depth + 1)) is not _NULL:
            found[key] = self.value(depth + 1)
        return found


_SINGLE: dict[str, object] = {"0": _NULL, "N": None, "T": True, "F": False}

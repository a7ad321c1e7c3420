"""PyTorch profiler files (Chrome trace JSON, gzipped or not) to a :class:`Trace`."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import msgspec

from whystall.model.recording import InputWarning
from whystall.model.text import Text

from .bytestream import ByteStream, ReadLimits
from .columns import CallColumns, GpuWorkColumns, MemoryFold, Names, NeedsExact, Numbers, RangeColumns, Timed
from .layout import KINDS, PHASES
from .pieces import Batch, EventReader, Findings
from .trace import KERNEL, MEMCPY, MEMSET, Device, Trace

_NO_MEMORY = {category: kind for category, kind in KINDS.items() if kind != "instant"}


def read_kineto(path: Path, limits: ReadLimits | None = None, memory: bool = True) -> Trace:
    """Read one file at constant text memory (a piece of 0.5 MB); columns take about 40 bytes per kept event.

    A file that is cut off, half written, concatenated or partly invalid is read as far as it goes; ``warnings`` says
    what is missing. ``memory`` False leaves out the allocator's events. Raises :class:`NotATrace` without an array of
    events, :class:`TooLarge` past ``limits``.
    """
    with ByteStream(path, limits) as stream:
        reader = EventReader(stream, KINDS if memory else _NO_MEMORY)
        builder = _Builder(memory)
        _keep_buffers()
        tracked = gc.isenabled()
        gc.disable()  # millions of short-lived acyclic objects: the collector only costs time here
        try:
            for batch in reader.batches():
                builder.add(batch, reader)
        finally:
            if tracked:
                gc.enable()
        return builder.trace(path, reader, stream)


def _keep_buffers() -> None:
    """Let the allocator keep the half-megabyte buffers instead of mapping and unmapping each: a fifth of the CPU time.

    glibc raises the size above which it maps memory to that of the largest mapping that was freed.
    """
    bytes(16 << 20)


class _Builder:
    def __init__(self, memory: bool) -> None:
        self.with_memory = memory
        names, numbers = Names(), Numbers()
        self.names = names
        self.work = GpuWorkColumns(names, numbers)
        self.calls = CallColumns(names, numbers)
        self.ranges = RangeColumns(names, numbers)
        self.memory = MemoryFold()
        self.overhead: dict[str, int] = {}
        self.untimed = 0

    def add(self, batch: Batch, reader: EventReader) -> None:
        try:
            self._add(batch.kind, batch.events, batch.document, reader.exact)
        except NeedsExact:
            # The times are epoch microseconds with a fraction: from here on they are kept as text.
            reader.exact = True
            self._add(batch.kind, batch.again(), batch.document, True)

    def _add(self, kind: str, events: list[Any], document: int, exact: bool) -> None:
        kinds = {kind: events} if kind in _OF_ONE_KIND else _by_kind(events)
        instants = kinds.pop("instant", [])
        # All times first: nothing may be kept twice when they turn out to need their text.
        timed = {name: Timed(found, exact) for name, found in kinds.items()}
        for name, found in timed.items():
            self._keep(name, found, document)
        if self.with_memory:
            self.memory.add(instants)

    def _keep(self, kind: str, timed: Timed, document: int) -> None:
        self.untimed += timed.rejected
        if kind == "kernel":
            self.work.add(timed, KERNEL, document)
        elif kind == "transfer":
            self.work.add(timed, [MEMSET if event.cat.endswith("set") else MEMCPY for event in timed.events], document)
        elif kind == "launch":
            self.calls.add(timed, document)
        elif kind == "annotation":
            self.ranges.add(timed)
        else:
            for event, duration in zip(timed.events, timed.duration.tolist(), strict=True):
                self.overhead[event.name] = self.overhead.get(event.name, 0) + duration

    def trace(self, path: Path, reader: EventReader, stream: ByteStream) -> Trace:
        header = _merged(reader.findings.headers)
        distributed = header.get("distributedInfo")
        distributed = distributed if isinstance(distributed, dict) else {}
        work = self.work.take()
        return Trace(
            file=path.name,
            format="pytorch",
            names=self.names.table(),
            work=work,
            calls=self.calls.take(),
            ranges=self.ranges.take(),
            overhead=self.overhead,
            collectives=tuple(self.work.collectives),
            memory=self.memory.take(),
            devices=_devices(header.get("deviceProperties")),
            rank=_whole(distributed.get("rank")),
            world_size=_whole(distributed.get("world_size")),
            base_ns=_whole(header.get("baseTimeNanoseconds")),
            events=reader.findings.events,
            header={key: value for key, value in header.items() if isinstance(value, str | int | float)},
            warnings=tuple(_warnings(path, reader.findings, stream, self.untimed, len(work))),
        )


_OF_ONE_KIND = ("kernel", "launch", "instant")  # decoded with a struct that takes no other category


def _by_kind(events: list[Any]) -> dict[str, list[Any]]:
    kinds: dict[str, list[Any]] = {}
    for event in events:
        kind = KINDS.get(event.cat)
        if kind and event.ph == PHASES.get(kind, "X"):
            kinds.setdefault(kind, []).append(event)
    return kinds


def _merged(headers: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for header in reversed(headers):
        merged.update(header)
    return merged


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class _DeviceProperties(msgspec.Struct):
    id: int = -1
    name: str = ""
    numSms: int = 0
    totalGlobalMem: int = 0
    computeMajor: int = 0
    computeMinor: int = 0


def _devices(raw: object) -> tuple[Device, ...]:
    if not isinstance(raw, list):
        return ()
    try:
        found = msgspec.convert(raw[:64], list[_DeviceProperties])
    except msgspec.ValidationError:
        return ()
    return tuple(Device(d.id, d.name, d.numSms, d.totalGlobalMem, d.computeMajor, d.computeMinor) for d in found)


def _warnings(path: Path, findings: Findings, stream: ByteStream, untimed: int, rows: int) -> list[InputWarning]:
    """What was handled, in words; empty for a file that is as it should be."""
    counts = findings.counts
    found: list[tuple[str, Text]] = []
    if stream.truncated:
        found.append(("truncated_gzip", _TRUNCATED_GZIP))
    if not findings.closed:
        found.append(("truncated_json", _TRUNCATED_JSON))
    if findings.documents > 1:
        found.append(("concatenated", _CONCATENATED.format(n=findings.documents)))
    if findings.lost_head:
        found.append(("unreadable_header", _LOST_HEAD))
    if counts.repaired:
        found.append(("invalid_json_repaired", _REPAIRED.format(n=counts.repaired)))
    if counts.rejected:
        found.append(("invalid_json_rejected", _REJECTED.format(n=counts.rejected)))
    if untimed:
        found.append(("events_without_time", _UNTIMED.format(n=untimed)))
    if not rows:
        found.append(("no_gpu_events", _NO_GPU))
    return [InputWarning(id, text, path.name) for id, text in found]


_TRUNCATED_GZIP = Text(
    "The gzip stream breaks off: the file was cut or the profiler was killed while writing. Figures cover what came.",
    "gzip 流中断：文件被截断，或采集器在写入时被终止。数字只覆盖已读到的部分。",
)
_TRUNCATED_JSON = Text(
    "The list of events does not end: the last events are missing. Figures cover what came.",
    "事件列表没有结束：缺少末尾的事件。数字只覆盖已读到的部分。",
)
_CONCATENATED = Text(
    "{n} traces one after the other in one file; they were read as one. Split them to compare ranks.",
    "一个文件里首尾相接地放了 {n} 份 trace，已合并读取。要比较各 rank，请先拆开。",
)
_LOST_HEAD = Text(
    "The header is not valid JSON: device and rank are unknown.", "文件头不是合法 JSON：设备与 rank 未知。"
)
_REPAIRED = Text(
    "{n:one event|# events} had invalid JSON (unescaped quotes, control characters or NaN), read after a repair.",
    "{n} 个事件的 JSON 不合法（未转义的引号、控制字符或 NaN），修复后已读取。",
)
_REJECTED = Text("{n:one event|# events} could not be read: left out.", "{n} 个事件无法读取，已缺失。")
_UNTIMED = Text(
    "{n:one event|# events} had no usable time or duration: left out.", "{n} 个事件没有可用的时间或时长，已缺失。"
)
_NO_GPU = Text(
    "No GPU events: the profiler recorded the CPU only (or CUPTI was taken by another tool such as DCGM or nsys).",
    "没有 GPU 事件：采集器只记录了 CPU（或 CUPTI 被 DCGM、nsys 等占用）。",
)

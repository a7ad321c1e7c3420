"""Nsight Systems SQLite exports to a :class:`Trace`: schemas of 2023 to 2025 and on, as far as their tables are known.

Tables exist only when they hold something, and columns come and go between versions: both are probed. Correlation ids
repeat across processes, so a link needs the process too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from whystall.errors import NotATrace
from whystall.model.recording import InputWarning
from whystall.model.text import Text

from .columns import Names
from .steps import parse_step
from .trace import KERNEL, MEMCPY, MEMSET, Calls, Device, GpuWork, Ranges, Trace

KNOWN_SCHEMA_MAJOR = (2, 3)
_PROCESS = 0xFFFFFF  # the low bits of a globalTid are its thread
_STEP_NAMES = ("execute_%", "%step[%", "prefill[%", "decode[%", "capture_%", "ProfilerStep#%")
_COPY_KINDS = {1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 8: "DtoD", 9: "HtoH", 10: "PtoP"}
_MEMORY_KINDS = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed"}
_FETCH = 50_000
Row = tuple[Any, ...]


def read_nsys(path: Path) -> Trace:
    """Read one export; raises :class:`NotATrace` where the file is not one, or holds no CUDA tables at all."""
    uri = f"file:{path.resolve().as_posix().replace('?', '%3f').replace('#', '%23')}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True)
    except sqlite3.Error as error:
        raise NotATrace(f"{path.name} cannot be opened as SQLite: {error}", _HINT) from error
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return _Export(path, connection).trace()
    except sqlite3.Error as error:
        raise NotATrace(f"{path.name} is not a whole Nsight Systems export: {error}", _HINT) from error
    finally:
        connection.close()


_HINT = "Export again: nsys export --type sqlite --output report.sqlite report.nsys-rep"


class _Export:
    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self.connection = path, connection
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self.tables = {str(name) for (name,) in rows}
        self.names = Names()
        self.processes: dict[int, int] = {}
        self.threads: dict[int, int] = {}

    def trace(self) -> Trace:
        if not self.tables & {"StringIds", "META_DATA_EXPORT", "CUPTI_ACTIVITY_KIND_KERNEL"}:
            raise NotATrace(f"{self.path.name} is a SQLite file, but not an Nsight Systems export", _HINT)
        self.strings = self._strings()
        meta = self._meta("META_DATA_EXPORT")
        capture = self._meta("META_DATA_CAPTURE")
        work = self._work()
        return Trace(
            file=self.path.name,
            format="nsys",
            work=work,
            calls=self._calls(),
            ranges=self._ranges(),
            names=self.names.table(),
            devices=self._devices(),
            base_ns=self._base(),
            events=len(work),
            header={key: value for key, value in meta.items() if key.startswith("EXPORT_") and "HOST" not in key},
            warnings=tuple(InputWarning(id, text, self.path.name) for id, text in self._warnings(meta, capture, work)),
        )

    def _columns(self, table: str) -> set[str]:
        return {str(row[1]) for row in self.connection.execute(f'PRAGMA table_info("{table}")')}

    def _select(self, table: str, wanted: Mapping[str, tuple[str, ...]], where: str = "") -> Iterator[Row]:
        """Rows of a table; ``wanted`` maps each result to the columns that may hold it, NULL where there is none."""
        if table not in self.tables:
            return
        present = self._columns(table)
        parts = [next((f'"{name}"' for name in names if name in present), "NULL") for names in wanted.values()]
        cursor = self.connection.execute(f'SELECT {", ".join(parts)} FROM "{table}" {where}')
        while rows := cursor.fetchmany(_FETCH):
            yield from rows

    def _strings(self) -> dict[int, str]:
        rows = self._select("StringIds", {"id": ("id",), "value": ("value",)})
        return {int(id): str(value)[:4096] for id, value in rows if isinstance(id, int)}

    def _meta(self, table: str) -> dict[str, str]:
        rows = self._select(table, {"name": ("name",), "value": ("value",)})
        return {str(name): str(value) for name, value in rows}

    def _name(self, value: object) -> str:
        return self.strings.get(value, "") if isinstance(value, int) else str(value or "")

    def _link(self, process: object, correlation: object) -> int:
        """One number for a process and its correlation id."""
        if not isinstance(correlation, int) or correlation < 0:
            return -1
        key = process & ~_PROCESS if isinstance(process, int) else 0
        return (self.processes.setdefault(key, len(self.processes)) << 40) + (correlation & ((1 << 40) - 1))

    def _work(self) -> GpuWork:
        rows = [row for kind in (KERNEL, MEMCPY, MEMSET) for row in self._work_rows(kind)]
        rows += list(self._graph_rows())
        table = np.array(rows, dtype=np.int64).reshape(-1, 8)
        start, end = table[:, 0], table[:, 1]
        return GpuWork(
            start=start,
            duration=end - start,
            name=table[:, 2].astype(np.int32),
            kind=table[:, 3].astype(np.int8),
            device=table[:, 4].astype(np.int32),
            stream=table[:, 5].astype(np.int32),
            correlation=table[:, 6],
            bytes=table[:, 7],
        )

    def _work_rows(self, kind: int) -> Iterator[Row]:
        wanted = dict(_WORK) | (_KERNEL_NAMES if kind == KERNEL else _COPY_COLUMNS)
        table = {KERNEL: "KERNEL", MEMCPY: "MEMCPY", MEMSET: "MEMSET"}[kind]
        for row in self._select(f"CUPTI_ACTIVITY_KIND_{table}", wanted):
            start, end, device, stream, correlation, process, *rest = row
            if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end):
                continue
            name = self._kernel_name(rest) if kind == KERNEL else _copy_name(kind, rest)
            size = rest[0] if kind != KERNEL and isinstance(rest[0], int) else -1
            yield self._row(start, end, name, kind, device, stream, self._link(process, correlation), size)

    def _row(
        self, start: int, end: int, name: str, kind: int, device: object, stream: object, link: int, size: int
    ) -> Row:
        return start, end, self.names.ids[name], kind, _small(device), _small(stream), link, size

    def _kernel_name(self, values: list[object]) -> str:
        return next((name for value in values if (name := self._name(value))), "unnamed")

    def _graph_rows(self) -> Iterator[Row]:
        """Whole graph launches, where the capture did not trace the kernels inside."""
        for start, end, device, stream, correlation, process in self._select("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _WORK):
            if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end:
                link = self._link(process, correlation)
                yield self._row(start, end, "CUDA graph (not traced inside)", KERNEL, device, stream, link, -1)

    def _calls(self) -> Calls:
        rows = []
        for start, end, thread, correlation, name in self._select("CUPTI_ACTIVITY_KIND_RUNTIME", _CALLS):
            if isinstance(start, int) and isinstance(end, int) and start <= end:
                label = self.names.ids[self._name(name).partition("_v")[0]]  # cudaLaunchKernel_v7000
                rows.append((start, end - start, label, self._thread(thread), self._link(thread, correlation)))
        table = np.array(rows, dtype=np.int64).reshape(-1, 5)
        return Calls(table[:, 0], table[:, 1], table[:, 2].astype(np.int32), table[:, 3], table[:, 4])

    def _thread(self, value: object) -> int:
        return self.threads.setdefault(value if isinstance(value, int) else -1, len(self.threads))

    def _ranges(self) -> Ranges:
        """Step annotations only: a capture holds millions of other ranges."""
        wanted = {"start": ("start",), "end": ("end",), "thread": ("globalTid",), "text": ("text",), "id": ("textId",)}
        likes = ",".join(f"'{pattern}'" for pattern in _STEP_NAMES)
        ids = [number for number, text in self.strings.items() if parse_step(text)]
        rows = []
        for start, end, thread, text, id in self._select("NVTX_EVENTS", wanted, self._where_steps(ids, likes)):
            name = str(text) if text else self._name(id)
            if isinstance(start, int) and isinstance(end, int) and start <= end and parse_step(name):
                rows.append((start, end - start, self.names.ids[name], self._thread(thread)))
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        return Ranges(table[:, 0], table[:, 1], table[:, 2].astype(np.int32), table[:, 3])

    def _where_steps(self, ids: list[int], likes: str) -> str:
        present = self._columns("NVTX_EVENTS") if "NVTX_EVENTS" in self.tables else set()
        tests = [f"text LIKE {like}" for like in likes.split(",")] if "text" in present else []
        if ids and "textId" in present:
            tests.append(f"textId IN ({', '.join(str(number) for number in ids[:10_000])})")
        return f"WHERE {' OR '.join(tests)}" if tests else "WHERE 0"

    def _devices(self) -> tuple[Device, ...]:
        wanted = {"id": ("id",), "name": ("name",), "sms": ("smCount",), "memory": ("totalMemory",)}
        found = self._select("TARGET_INFO_GPU", wanted)
        return tuple(
            Device(_small(id), str(name or ""), _small(sms), _small(memory)) for id, name, sms, memory in found
        )

    def _base(self) -> int | None:
        rows = list(self._select("TARGET_INFO_SESSION_START_TIME", {"utc": ("utcEpochNs",)}))
        return rows[0][0] if rows and isinstance(rows[0][0], int) else None

    def _warnings(self, meta: dict[str, str], capture: dict[str, str], work: GpuWork) -> Iterator[tuple[str, Text]]:
        major = meta.get("EXPORT_SCHEMA_VERSION_MAJOR", "")
        if major.isdigit() and int(major) not in KNOWN_SCHEMA_MAJOR:
            yield "unknown_schema", _UNKNOWN.format(version=meta.get("EXPORT_SCHEMA_VERSION", major))
        if capture.get("CUDA_GRAPH_TRACE_OPTIONS:MODE", "").lower() == "graph":
            yield "graphs_not_traced", _GRAPHS
        if not len(work):
            yield "no_gpu_events", _NO_GPU


_WORK = {
    "start": ("start",),
    "end": ("end",),
    "device": ("deviceId",),
    "stream": ("streamId",),
    "correlation": ("correlationId",),
    "process": ("globalPid",),
}
_CALLS = {
    "start": ("start",),
    "end": ("end",),
    "thread": ("globalTid",),
    "correlation": ("correlationId",),
    "name": ("nameId",),
}
_KERNEL_NAMES = {"demangled": ("demangledName",), "mangled": ("mangledName",), "short": ("shortName", "nameId")}
_COPY_COLUMNS = {"bytes": ("bytes",), "copy": ("copyKind",), "source": ("srcKind",), "target": ("dstKind",)}


def _copy_name(kind: int, values: list[Any]) -> str:
    """As PyTorch's profiler writes it: ``Memcpy HtoD (Pageable -> Device)``."""
    if kind == MEMSET:
        return "Memset (Device)"
    _, copy, source, target = values
    sides = [_MEMORY_KINDS.get(side) for side in (source, target)]
    told = f" ({sides[0]} -> {sides[1]})" if all(sides) else ""
    return f"Memcpy {_COPY_KINDS.get(copy, 'unknown')}{told}"


def _small(value: object) -> int:
    return value if isinstance(value, int) and -(1 << 31) < value < 1 << 63 else -1


_UNKNOWN = Text(
    "Export schema {version} is not one of those known here; only tables and columns under the known names are used.",
    "未知的导出 schema {version}；只使用名称已知的表与列。",
)
_GRAPHS = Text(
    "CUDA graphs were traced as a whole: the kernels inside are missing. Record with --cuda-graph-trace=node.",
    "CUDA graph 只按整体记录：缺少其中的内核。请用 --cuda-graph-trace=node 重新采集。",
)
_NO_GPU = Text(
    "No kernel, copy or set in the export: CUDA was not traced (--trace=cuda,nvtx), or no work ran in the window.",
    "导出中没有内核、拷贝或清零：未跟踪 CUDA（--trace=cuda,nvtx），或窗口内没有任务。",
)

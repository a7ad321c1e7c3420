"""Exports built to the schemas of 2023 to 2025, and a real one."""

import lzma
import sqlite3
from pathlib import Path

import pytest

from whystall.errors import NotATrace
from whystall.profiles.analysis import summarise
from whystall.profiles.nsys import read_nsys
from whystall.profiles.recognise import recognise

PID = 7 << 24
OTHER = 9 << 24

# What changed over the years: text or textId, nameId of kernels, graph tables, columns that came and went.
SCHEMAS = {
    "2023": ("2", "start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName", False),
    "2024": (
        "3",
        "start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName, mangledName",
        True,
    ),
    "2025": (
        "3",
        "start, end, deviceId, greenContextId, streamId, correlationId, globalPid, demangledName, graphId",
        True,
    ),
}
NAMES = {
    1: "void flash_fwd_kernel<int>(int)",
    2: "nvjet_tst",
    3: "cudaLaunchKernel_v7000",
    4: "execute_context_0(0)_generation_4(4)",
}


def build(path: Path, year: str, tables: tuple[str, ...] = ("KERNEL", "RUNTIME", "NVTX", "MEMCPY")) -> Path:
    major, columns, text_id = SCHEMAS[year]
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", NAMES.items())
    db.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
    db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION_MAJOR', ?)", (major,))
    if "KERNEL" in tables:
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
        for start, name, process in ((1000, 1, PID), (3000, 2, PID), (3500, 2, OTHER)):
            row = {
                "start": start,
                "end": start + 400,
                "deviceId": 0,
                "streamId": 7,
                "correlationId": 11,
                "globalPid": process,
            }
            row["demangledName"] = name
            cells = [row.get(column.strip()) for column in columns.split(",")]
            db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({','.join('?' * len(cells))})", cells)
    if "MEMCPY" in tables:
        columns = "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind"
        db.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({columns})")
        db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5000, 5100, 0, 7, 12, {PID}, 4096, 1, 0, 2)")
    if "RUNTIME" in tables:
        db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId)")
        db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (900, 950, {PID + 5}, 11, 3)")
    if "NVTX" in tables:
        field = "textId" if text_id else "text"
        db.execute(f"CREATE TABLE NVTX_EVENTS (start, end, eventType, globalTid, {field})")
        db.execute(f"INSERT INTO NVTX_EVENTS VALUES (800, 2000, 59, {PID + 5}, ?)", (4 if text_id else NAMES[4],))
        db.execute(f"INSERT INTO NVTX_EVENTS VALUES (800, 2000, 59, {PID + 5}, ?)", (2 if text_id else "aten::view",))
    db.commit()
    db.close()
    return path


@pytest.mark.parametrize("year", SCHEMAS)
def test_schemas_of_three_years_are_read_alike(tmp_path: Path, year: str) -> None:
    path = build(tmp_path / "a.sqlite", year)
    assert recognise(path) == "nsys"
    trace = read_nsys(path)
    assert trace.warnings == ()
    seen = {trace.names[number] for number in trace.work.name}
    assert seen == {NAMES[1], NAMES[2], "Memcpy HtoD (Pageable -> Device)"}
    summary = summarise(trace)
    assert (summary.rows, summary.ns) == (4, 1300)
    # Both processes use correlation 11: only the one whose process made the call is linked.
    assert summary.launches.eager_launches == 1
    assert [(step.phase, step.kernels) for step in summary.steps] == [("decode", 2)]


def test_tables_that_are_missing_are_missing(tmp_path: Path) -> None:
    summary = summarise(read_nsys(build(tmp_path / "a.sqlite", "2024", ("KERNEL",))))
    assert (summary.rows, summary.steps, summary.launches.unlinked) == (3, (), 3)
    empty = read_nsys(build(tmp_path / "b.sqlite", "2024", ()))
    assert [warning.id for warning in empty.warnings] == ["no_gpu_events"]


def test_an_unknown_schema_is_said(tmp_path: Path) -> None:
    path = build(tmp_path / "a.sqlite", "2024")
    db = sqlite3.connect(path)
    db.execute("UPDATE META_DATA_EXPORT SET value = '9'")
    db.execute("CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT)")
    db.execute("INSERT INTO META_DATA_CAPTURE VALUES ('CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Graph')")
    db.execute(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, globalPid)"
    )
    db.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (9000, 9900, 0, 7, 99, {PID})")
    db.commit()
    db.close()
    trace = read_nsys(path)
    assert [warning.id for warning in trace.warnings] == ["unknown_schema", "graphs_not_traced"]
    assert len(trace.work) == 5


def test_hostile_values_are_skipped(tmp_path: Path) -> None:
    path = build(tmp_path / "a.sqlite", "2024")
    db = sqlite3.connect(path)
    for start, end in (("x", 5), (5, None), (9, 3), (-4, 8)):
        db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES (?, ?)", (start, end))
    db.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_MEMSET AS SELECT 1")
    db.commit()
    db.close()
    assert len(read_nsys(path).work) == 4


def test_other_files_are_clear_errors(tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    db = sqlite3.connect(other)
    db.execute("CREATE TABLE t (x)")
    db.commit()
    db.close()
    with pytest.raises(NotATrace, match="not an Nsight Systems export"):
        read_nsys(other)
    whole = build(tmp_path / "a.sqlite", "2023").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NotATrace, match="not a whole"):
        read_nsys(tmp_path / "cut")


def test_a_real_export(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "real.sqlite"
    path.write_bytes(lzma.decompress((shared / "traces/public/nsys_h100_2gpu_1s.sqlite.xz").read_bytes()))
    trace = read_nsys(path)
    db = sqlite3.connect(path)
    tables = [f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET")]
    sums = [db.execute(f"SELECT count(*), sum(end - start) FROM {table}").fetchone() for table in tables]
    linked = db.execute(
        "SELECT count(DISTINCT k.rowid) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
        "ON r.correlationId = k.correlationId AND (r.globalTid & ~16777215) = k.globalPid"
    ).fetchone()[0]
    db.close()
    summary = summarise(trace)
    assert (summary.rows, summary.ns) == (sum(n for n, _ in sums), sum(ns for _, ns in sums))
    assert summary.launches.eager_launches == linked
    assert summary.device_ids == (0, 1)
    assert [warning.id for warning in trace.warnings] == ["graphs_not_traced"]

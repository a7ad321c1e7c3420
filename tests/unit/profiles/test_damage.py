"""Damaged files of every kind: an answer or one of our errors, never anything else."""

from __future__ import annotations

import json
import marshal
import random
import sqlite3
from pathlib import Path

import pytest

from chrome_trace import LAYOUTS, annotation, call, document, instant, kernel, memcpy, render
from whystall.errors import WhystallError
from whystall.profiles.files import TraceOptions, report_of
from whystall.reports.json import to_json
from whystall.reports.trace_text import render_trace

STEP = "execute_context_0(0)_generation_4(4)"
EVENTS = [
    event
    for n in range(12)
    for event in (
        annotation(STEP, 100 * n, 50),
        call("cudaLaunchKernel", 100 * n + 1, 2, n),
        kernel("flash_fwd", 100 * n + 5, 20, n, **{"Collective name": "allreduce"}),
        memcpy("DtoH (Device -> Pinned)", 100 * n + 30, 2, 64, n),
        instant(0, n, 2 * n),
    )
]
SPAN = {"traceId": "t", "spanId": "s", "name": "llm_request", "startTimeUnixNano": "5", "endTimeUnixNano": "900"}
SPAN |= {"attributes": [{"key": "gen_ai.latency.time_in_queue", "value": {"doubleValue": 1e-7}}]}
CONTENT = {layout: render(document(EVENTS, record_shapes=1), layout) for layout in LAYOUTS}
CONTENT |= {
    "otlp": json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN] * 6}]}]}).encode(),
    "zipkin": json.dumps(
        [{"traceId": "a", "id": "b", "name": "llm_request", "timestamp": 5, "duration": 9}] * 6
    ).encode(),
    "speedscope": json.dumps(
        {
            "$schema": "speedscope.app",
            "shared": {"frames": [{"name": "schedule", "file": "scheduler.py"}]},
            "profiles": [{"type": "sampled", "unit": "seconds", "samples": [[0]] * 9, "weights": [1.0] * 9}],
        }
    ).encode(),
    "pstats": marshal.dumps({("scheduler.py", 1, "schedule"): (1, 2, 0.5, 0.7, {})}),
    "ncu": b'"ID","Kernel Name","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"\n'
    b'"","","us","%"\n"0","k","5","50"\n"1","k","6","60"\n',
}


def nsys(folder: Path) -> bytes:
    path = folder / "whole.sqlite"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    db.execute("INSERT INTO StringIds VALUES (1, 'nvjet')")
    db.execute(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, demangledName)"
    )
    db.executemany(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, 1, 5, 1)", [(n, n + 3) for n in range(50)]
    )
    db.commit()
    db.close()
    return path.read_bytes()


INSERTED = (b'"', b"}", b"]", b"NaN", b"-1e999", b'"traceEvents": [', b"\x00", b"9" * 25)


def damaged(content: bytes, luck: random.Random) -> bytes:
    """Some bytes changed, taken out or put in twice, or the end cut off."""
    data = bytearray(content)
    for _ in range(luck.randint(1, 6)):
        at = luck.randrange(len(data))
        match luck.randrange(5):
            case 0:
                data[at] = luck.randrange(256)
            case 1:
                del data[at : at + luck.randint(1, 40)]
            case 2:
                data[at:at] = data[at : at + luck.randint(1, 200)]
            case 3:
                data[at:at] = luck.choice(INSERTED)
            case 4:
                del data[luck.randrange(len(data) // 2, len(data)) :]
        if len(data) < 10:
            break
    return bytes(data)


@pytest.mark.parametrize("kind", [*CONTENT, "nsys"])
def test_an_answer_or_one_of_our_errors(tmp_path: Path, kind: str) -> None:
    content = nsys(tmp_path) if kind == "nsys" else CONTENT[kind]
    answers = 0
    for seed in range(60):
        path = tmp_path / "damaged"
        path.write_bytes(damaged(content, random.Random(f"{kind}{seed}")))
        try:
            report = report_of([path], TraceOptions())
        except WhystallError:
            continue
        render_trace(report, "en")
        to_json(report, "zh")
        answers += 1
    assert answers > 0

import io
import json
from decimal import Decimal
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from chrome_trace import BASE_US, annotation, call, document, kernel, render, write
from whystall.profiles.chrome_export import ExportWindow, common_base, microseconds, write_chrome
from whystall.profiles.kineto import read_kineto
from whystall.profiles.linked import LinkedTrace, link
from whystall.profiles.spans import RequestTime

EVENTS = [
    annotation("execute_context_0(0)_generation_4(4)", 0, 50),
    call("cudaLaunchKernel", 1, 2, 1),
    kernel('odd "name" </script>', 5, 10, 1),
    kernel("late", 500, 10, 2),
]


def linked(folder: Path, **header) -> LinkedTrace:
    return link(read_kineto(write(folder, render(document(EVENTS, **header)))))


def written(traces, requests=(), window=None) -> dict:
    out = io.StringIO()
    count = write_chrome(out, traces, requests, window)
    body = json.loads(out.getvalue())
    assert len(body["traceEvents"]) == count
    return body


def test_it_can_be_read_back(tmp_path: Path) -> None:
    out = io.StringIO()
    write_chrome(out, [linked(tmp_path)])
    (tmp_path / "again.json").write_text(out.getvalue())
    again = link(read_kineto(tmp_path / "again.json"))
    first = linked(tmp_path)
    assert again.trace.work.start.tolist() == first.trace.work.start.tolist()
    assert again.step.tolist() == first.step.tolist()
    assert 'odd "name" </script>' in again.trace.names


def test_a_window(tmp_path: Path) -> None:
    start = BASE_US * 1000
    body = written([linked(tmp_path)], window=ExportWindow(start, start + 20_000))
    names = {event["name"] for event in body["traceEvents"] if event["ph"] == "X"}
    assert names == {"execute_context_0(0)_generation_4(4)", "cudaLaunchKernel", 'odd "name" </script>'}


def test_requests_on_the_same_clock(tmp_path: Path) -> None:
    base = 1_790_857_026_000_000_000
    trace = linked(tmp_path, baseTimeNanoseconds=base)
    start = base + BASE_US * 1000 - 1_000_000
    request = RequestTime("r1", "t1", start, start + 5_000_000, 1_000, 2_000, 3_000, 4_000, 0, None, None)
    assert common_base([trace], [request]) == start
    body = written([trace], [request])
    rows = {event["name"]: event for event in body["traceEvents"] if event["ph"] == "X"}
    assert (rows["r1"]["ts"], rows["queue"]["ts"], rows["prefill"]["ts"]) == (0.0, 1.0, 3.0)
    assert rows["late"]["ts"] == 1500.0
    assert body["baseTimeNanoseconds"] == start


@given(st.integers(-(2**62), 2**62))
def test_microseconds_are_exact(ns: int) -> None:
    assert Decimal(microseconds(ns)) * 1000 == ns

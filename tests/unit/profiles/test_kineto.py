"""Files in any state: read as far as they go, and what is missing is said."""

import gzip
import json
from pathlib import Path

import pytest

import chrome_trace
from chrome_trace import annotation, call, document, kernel, render, write
from whystall.errors import InputError, NotATrace, TooLarge
from whystall.profiles.bytestream import ReadLimits
from whystall.profiles.kineto import read_kineto

EVENTS = [
    event
    for n in range(200)
    for event in (call("cudaLaunchKernel", 10 * n, 2, n), kernel(f"k{n % 3}", 10 * n + 4, 3, n))
]


def ids(trace) -> list[str]:
    return [warning.id for warning in trace.warnings]


@pytest.mark.parametrize("layout", chrome_trace.LAYOUTS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_layout_is_read_alike(tmp_path: Path, layout: str, zipped: bool) -> None:
    trace = read_kineto(write(tmp_path, render(document(EVENTS), layout), zipped=zipped))
    assert (len(trace.work), len(trace.calls), trace.events, ids(trace)) == (200, 200, 400, [])
    assert trace.work.duration.sum() == 600_000
    assert trace.work.start.tolist() == [round((chrome_trace.BASE_US + 10 * n + 4) * 1000) for n in range(200)]


def test_a_root_array_and_no_header(tmp_path: Path) -> None:
    trace = read_kineto(write(tmp_path, render(EVENTS, "compact")))
    assert (len(trace.work), trace.rank, ids(trace)) == (200, None, [])


def test_the_header_before_and_after_the_events(tmp_path: Path) -> None:
    device = {"id": 0, "name": "NVIDIA H200", "numSms": 132, "totalGlobalMem": 9, "computeMajor": 9}
    content = document(EVENTS, deviceProperties=[device], distributedInfo={"rank": 3, "world_size": 8})
    content["baseTimeNanoseconds"] = 7
    trace = read_kineto(write(tmp_path, render(content, "compact")))
    assert (trace.rank, trace.world_size, trace.base_ns) == (3, 8, 7)
    assert trace.devices[0].name == "NVIDIA H200"


@pytest.mark.parametrize("keep", [0.3, 0.77, 0.999])
def test_a_gzip_that_breaks_off(tmp_path: Path, keep: float) -> None:
    content = gzip.compress(render(document(EVENTS)), compresslevel=0)
    trace = read_kineto(write(tmp_path, content[: int(len(content) * keep)]))
    assert "truncated_gzip" in ids(trace)
    assert 0.8 * keep * 200 < len(trace.work) <= 200


@pytest.mark.parametrize("layout", chrome_trace.LAYOUTS)
def test_a_half_written_file(tmp_path: Path, layout: str) -> None:
    content = render({"traceEvents": EVENTS} if layout == "sorted" else document(EVENTS), layout)
    trace = read_kineto(write(tmp_path, content[: len(content) // 2]))
    assert "truncated_json" in ids(trace)
    assert 90 <= len(trace.work) <= 110


def test_concatenated_documents_keep_their_own_links(tmp_path: Path) -> None:
    content = render(document(EVENTS)) + render(document(EVENTS)) + render(document(EVENTS), "compact")
    trace = read_kineto(write(tmp_path, content), ReadLimits(block_bytes=3000))
    assert (len(trace.work), trace.events, ids(trace)) == (600, 1200, ["concatenated"])
    assert len(set(trace.work.correlation.tolist())) == 600


def test_two_gzip_members_are_one_text(tmp_path: Path) -> None:
    content = render(document(EVENTS))
    half = len(content) // 2
    trace = read_kineto(write(tmp_path, gzip.compress(content[:half]) + gzip.compress(content[half:])))
    assert (len(trace.work), ids(trace)) == (200, [])


@pytest.mark.parametrize("layout", ["profiler", "compact", "sorted"])
def test_nan_and_missing_times_are_counted(tmp_path: Path, layout: str) -> None:
    bad = [kernel("nan", 5, float("nan")), kernel("inf", float("inf"), 1), kernel("negative", 5, -1)]
    timeless = kernel("none", 5, 1)
    del timeless["ts"]
    trace = read_kineto(write(tmp_path, render(document([*EVENTS, *bad, timeless]), layout)))
    assert len(trace.work) == 200
    assert next(w for w in trace.warnings if w.id == "events_without_time").text.en.startswith("4 events")


@pytest.mark.parametrize("broken", ['say "hi" there', "tab\there", "back\\slash C:\\q", 'brace"{ and }, {'])
@pytest.mark.parametrize("block", [900, 512 * 1024])
def test_invalid_json_of_the_profiler_is_repaired(tmp_path: Path, broken: str, block: int) -> None:
    """The profiler does not escape names. Strict parsers lose the whole file."""
    text = render(document([*EVENTS[:100], kernel("MARK", 2000, 5, 999), *EVENTS[100:]])).decode()
    path = write(tmp_path, text.replace("MARK", broken).encode())
    trace = read_kineto(path, ReadLimits(block_bytes=block))
    assert (len(trace.work), trace.events) == (201, 401)
    assert broken in trace.names
    assert ids(trace) == ["invalid_json_repaired"]


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    text = (
        render(document([*EVENTS, kernel("MARK", 1, 1), *EVENTS]))
        .decode()
        .replace('"name": "MARK"', '"name": nonsense')
    )
    trace = read_kineto(write(tmp_path, text.encode()))
    assert len(trace.work) == 400
    assert ids(trace) == ["invalid_json_rejected"]


def test_wrong_types_become_absent(tmp_path: Path) -> None:
    odd = kernel("odd", 1, 1)
    odd["args"] = {"correlation": "twelve", "stream": None, "device": 2}
    trace = read_kineto(write(tmp_path, render(document([odd]))))
    assert (trace.work.correlation.tolist(), trace.work.device.tolist()) == ([-1], [2])


def test_huge_numbers_are_refused_one_by_one(tmp_path: Path) -> None:
    huge = kernel("huge", 0, 1, correlation=2**80)
    late = kernel("late", 0, 1)
    late["ts"] = 10**40
    trace = read_kineto(write(tmp_path, render(document([*EVENTS, huge, late]))))
    assert len(trace.work) == 201
    assert trace.work.correlation.max() == 199


def test_a_gzip_bomb_is_refused_while_small(tmp_path: Path) -> None:
    path = write(tmp_path, b'{"traceEvents": [' + b" " * (70 << 20), zipped=True)
    with pytest.raises(TooLarge, match="times larger than its gzip"):
        read_kineto(path)


def test_the_absolute_limit_holds_for_plain_text(tmp_path: Path) -> None:
    path = write(tmp_path, render(document(EVENTS)))
    with pytest.raises(TooLarge, match="more than 10,000 bytes"):
        read_kineto(path, ReadLimits(max_bytes=10_000))


def test_a_trace_without_gpu_events_says_so(tmp_path: Path) -> None:
    trace = read_kineto(write(tmp_path, render(document([annotation("x", 1, 1), call("cudaFree", 1, 1, 1)]))))
    assert ids(trace) == ["no_gpu_events"]


def test_many_events_of_one_name_share_it(tmp_path: Path) -> None:
    one = json.dumps(kernel("same", 1, 2, 3))
    path = write(tmp_path, b'{"traceEvents": [' + ", ".join([one] * 100_000).encode() + b"]}")
    trace = read_kineto(path)
    assert (len(trace.work), trace.names) == (100_000, ("same",))


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b"\x1f\x8b", b"\x00" * 5000, b'{"traceEvents": 5}'])
def test_no_events_is_a_clear_error(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(NotATrace, match="holds no traceEvents"):
        read_kineto(write(tmp_path, content))


def test_a_folder_or_nothing_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read_kineto(tmp_path)
    with pytest.raises(InputError, match="No such file"):
        read_kineto(tmp_path / "absent")


def test_the_old_names_of_categories(tmp_path: Path) -> None:
    old = {"kernel": "Kernel", "cuda_runtime": "Runtime"}
    events = [{**event, "cat": old[event["cat"]]} for event in EVENTS]
    trace = read_kineto(write(tmp_path, render(document(events))))
    assert (len(trace.work), len(trace.calls)) == (200, 200)

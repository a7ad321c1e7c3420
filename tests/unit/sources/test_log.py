"""Log lines of every format, and what they say."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from log_lines import ANCHOR, START, line, one
from whystall.model.recording import LogLine
from whystall.sources.files.recording import read_recording
from whystall.sources.log import read_events, read_iterations, read_log, read_stats, within


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "(APIServer pid=4292) INFO 11-30 01:00:26 [api_utils.py:273] non-default args: {}",
            LogLine(START + 26, "INFO", "APIServer", 4292, "non-default args: {}"),
        ),
        (
            "(Worker_TP0_EP1 pid=7) WARNING 11-30 01:00:26 [a.py:1] x",
            LogLine(START + 26, "WARNING", "Worker_TP0_EP1", 7, "x"),
        ),
        ("INFO 11-30 01:00:26 metrics.py:341] Avg", LogLine(START + 26, "INFO", "", None, "Avg")),
        ("INFO 11-30 01:00:26 [metrics.py:341] Avg", LogLine(START + 26, "INFO", "", None, "Avg")),
        ("(APIServer pid=1) INFO:     127.0.0.1:1 - x", LogLine(None, "INFO", "APIServer", 1, "127.0.0.1:1 - x")),
        ("(EngineCore pid=1) Traceback", LogLine(None, "", "EngineCore", 1, "Traceback")),
        ("loose", LogLine(None, "", "", None, "loose")),
        ("INFO 2026-11-30 01:00:26.213 metrics.py:351] Avg", LogLine(START + 26.213, "INFO", "", None, "Avg")),
        ("WARNING 11-30 01:00:26 scheduler.py:1057 Sequence", LogLine(START + 26, "WARNING", "", None, "Sequence")),
        ("(VllmWorker rank=1 pid=7) INFO 11-30 01:00:26 [a.py:1] x", LogLine(START + 26, "INFO", "VllmWorker", 7, "x")),
        ("(RayWorkerWrapper pid=7, ip=10.0.0.1) x", LogLine(None, "", "RayWorkerWrapper", 7, "x")),
        ("(ServeReplica:app:LLM pid=7, ip=10.0.0.1) (EngineCore pid=8) x", LogLine(None, "", "EngineCore", 8, "x")),
        ("vllm-1  | INFO 11-30 01:00:26 [a.py:1] x", LogLine(START + 26, "INFO", "", None, "x")),
        (
            "pod-1 vllm (APIServer pid=7) INFO 11-30 01:00:26 [a.py:1] x",
            LogLine(START + 26, "INFO", "APIServer", 7, "x"),
        ),
        ("[pod/a/b] (W pid=7) INFO 11-30 01:00:26 [v1/a.py:1] x", LogLine(START + 26, "INFO", "W", 7, "x")),
        (
            "2026-11-30 09:00:00.353 | (W pid=7) INFO 11-30 01:00:26 [a.py:1] x",
            LogLine(START + 26, "INFO", "W", 7, "x"),
        ),
        ("", LogLine(None, "", "", None, "")),
        ("\x1b[1;36m(APIServer pid=1)\x1b[0;0m loose\r\n", LogLine(None, "", "APIServer", 1, "loose")),
        (
            "2026-11-30T01:00:05.250Z (APIServer pid=1) INFO 11-30 03:00:05 [a.py:1] x",
            LogLine(START + 5.25, "INFO", "APIServer", 1, "x"),
        ),
        ("2026-11-30T02:00:05+01:00 stdout F loose", LogLine(START + 5, "", "", None, "loose")),
        (
            '{"timestamp":"2026-11-30T01:00:07Z","level":"info","process_name":"APIServer","pid":3,"message":"x"}',
            LogLine(START + 7, "INFO", "APIServer", 3, "x"),
        ),
        ('{"asctime":"11-30 01:00:07","levelname":"INFO","msg":"x"}', LogLine(START + 7, "INFO", "", None, "x")),
        (f'{{"ts":{(START + 8) * 1000:.0f},"message":"x"}}', LogLine(START + 8, "", "", None, "x")),
        (f'{{"created":{START + 8.5},"message":"x"}}', LogLine(START + 8.5, "", "", None, "x")),
        ("INFO 02-30 01:00:26 [a.py:1] no such day", LogLine(None, "INFO", "", None, "no such day")),
        ('{"a": 1}', LogLine(None, "", "", None, '{"a": 1}')),
        ("{" * 5000, LogLine(None, "", "", None, "{" * 5000)),
        ('{"message":"x","ts":1e999}', LogLine(None, "", "", None, "x")),
    ],
)
def test_formats(text, wanted):
    assert one(text) == wanted


def test_within_keeps_loose_lines_with_the_line_before():
    lines = [line("a", 1.0), line("b", None), line("c", 2.0), line("d", None), line("e", 9.0), line("f", None)]
    assert [entry.text for entry in within(lines, 2.0, 5.0)] == ["c", "d"]


def test_an_event_without_a_time_gets_that_of_the_line_before():
    assert read_events([line("a", 5.0), line("torch.OutOfMemoryError: x", None)])[0].t == 5.0


V1 = (
    "Engine 001: Avg prompt throughput: 8868.8 tokens/s, Avg generation throughput: 7413.9 tokens/s, Running: 245 reqs, "
    "Waiting: 11 reqs, Deferred: 2 reqs, Preemptions: 4, GPU KV cache usage: 3.7%, Prefix cache hit rate: 12.5%, "
    "External prefix cache hit rate: 99.0%"
)


V0 = (
    "Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 5.5 tokens/s, Running: 1 reqs, Swapped: 0 reqs, "
    "Pending: 3 reqs, GPU KV cache usage: 50.0%, CPU KV cache usage: 0.0%."
)


def test_periodic_lines_of_all_versions():
    v1, v0, several = read_stats([line(V1), line(V0), line("2 Engines Aggregated: " + V1[12:]), line("other")])
    assert (v1.engine, v1.running, v1.waiting, v1.deferred, v1.preemptions) == ("1", 245, 11, 2, 4)
    assert (v1.prompt_tokens_per_s, v1.generation_tokens_per_s) == (8868.8, 7413.9)
    assert v1.kv_usage_ratio == pytest.approx(0.037)
    assert v1.hit_rate_ratio == pytest.approx(0.125)
    assert (v0.engine, v0.running, v0.waiting, v0.kv_usage_ratio) == ("", 1, 3, 0.5)
    assert math.isnan(v0.preemptions)
    assert (several.engine, several.running) == ("", 245)


def test_iterations():
    text = (
        "Engine 000: Iteration(10): 1 context requests, 122 context tokens, 6 generation requests, 7 generation tokens, "
        "iteration elapsed time: 6.72 ms (dummy), CPU KV cache usage: 73.7%"
    )
    columns = read_iterations([line("x"), line(text, 3.0), line(text, None)])
    assert columns.t.tolist() == [3.0]
    assert columns.engine == ("0",)
    assert (columns.context_requests[0], columns.context_tokens[0]) == (1, 122)
    assert (columns.generation_requests[0], columns.generation_tokens[0]) == (6, 7)
    assert columns.elapsed_s[0] == pytest.approx(0.00672)
    assert columns.kv_usage_ratio[0] == pytest.approx(0.737)
    assert read_iterations([line("x")]) is None


HOSTILE = [
    "(" * 1_000_000,
    "(a pid=" + "1" * 1_000_000,
    "x " + "(a b" * 250_000,
    "x INFO " * 150_000,
    "INFO 11-30 01:00:00 [" + "a" * 1_000_000,
    "INFO" + " " * 1_000_000 + "x",
    "INFO:" + "\t" * 1_000_000,
    "{" + '"a":' * 250_000,
    '{"message":"' + "x" * 1_000_000,
    "2026-11-30T01:00:00 " * 50_000,
    "\x1b[" * 500_000,
    "Engine 0: Iteration(" + "1" * 1_000_000,
    "Engine 0: Avg prompt throughput: " + "9" * 1_000_000,
    "GPU KV cache size: " + "1," * 500_000,
    "Model loading took " + "1." * 500_000,
    "Request " + "a" * 1_000_000 + " aborted",
    "during inference: " + "x " * 500_000,
    "Engine core process " * 50_000,
    "GC took " * 120_000,
    "RPC call to " * 90_000,
    "\x00\ufffd" * 500_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20])
def test_hostile_lines_of_a_megabyte_cost_little(text):
    start = time.process_time()
    lines = read_log([text], ANCHOR)
    read_events(lines)
    read_stats(lines)
    read_iterations(lines)
    assert time.process_time() - start < 5.0  # CPU time, not wall clock; quadratic work would take minutes


@given(st.text(max_size=200), st.sampled_from(["", "INFO 11-30 01:00:00 [a.py:1] ", "(APIServer pid=1) "]))
def test_any_line_is_read(text, prefix):
    lines = read_log([prefix + text.replace("\n", " ")], ANCHOR)
    assert len(lines) == 1
    read_events(lines)
    read_stats(lines)


def test_every_recorded_log(shared):
    for folder in sorted(path for path in (shared / "recordings").iterdir() if path.is_dir()):
        recording = read_recording(folder)
        times = [entry.t for entry in recording.log if entry.t is not None]
        first, last = recording.metrics.times[[0, -1]]
        assert times == sorted(times), folder.name
        assert -200 < times[0] - first < 0, folder.name
        assert any(first <= t <= last for t in times), folder.name
        ids = [found.id for found in read_events(recording.log)]
        assert {"non_default_args", "engine_config", "kv_size", "engine_ready", "server_ready"} <= set(ids)
        assert ("profiler_start" in ids) == (folder.name in ("profiled", "profiled_eager", "cpu_traced"))
        assert len(read_stats(recording.log)) >= 3

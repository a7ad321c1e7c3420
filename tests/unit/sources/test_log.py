"""Log lines of every format, their times, and what they say."""

import datetime as dt
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whystall.model.recording import LogLine
from whystall.sources.dialects.vllm_log import EVENTS
from whystall.sources.files.recording import read_recording
from whystall.sources.log import read_events, read_iterations, read_log, read_stats, within
from whystall.sources.log_clock import LogAnchor

START = dt.datetime(2026, 11, 30, 1, 0, tzinfo=dt.UTC).timestamp()
ANCHOR = LogAnchor(START, START + 60)


def one(line, anchor=ANCHOR):
    (found,) = read_log([line], anchor)
    return found


def line(text, t=START):
    return LogLine(t, "INFO", "EngineCore", 1, text)


def event(text):
    found = read_events([line(text)])
    return (found[0].id, found[0].value) if found else None


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


def api(moment, pid=1):
    return f"(APIServer pid={pid}) INFO {moment:%m-%d %H:%M:%S} [a.py:1] x"


@pytest.mark.parametrize("hours", [-11.5, -8, -3.75, 0, 1, 5.5, 5.75, 8, 13])
def test_the_time_zone_comes_from_the_servers_start(hours):
    zone = dt.timezone(dt.timedelta(hours=hours))
    lines = [api(dt.datetime.fromtimestamp(START - 600 + k, zone)) for k in (0, 300, 620)]
    found = read_log(lines, LogAnchor(START, START + 60, process_start=START - 608))
    assert [entry.t for entry in found] == [START - 600, START - 300, START + 20]


def test_of_several_starts_in_a_log_the_recorded_one_counts():
    zone = dt.timezone(dt.timedelta(hours=2))
    old, new = START - 7_000, START - 600
    lines = [api(dt.datetime.fromtimestamp(old, zone), 1), api(dt.datetime.fromtimestamp(new, zone), 2)]
    assert read_log(lines, LogAnchor(START, START + 60, new - 5))[1].t == new


def test_without_a_start_utc_is_taken_where_it_fits():
    lines = [api(dt.datetime.fromtimestamp(START + k, dt.UTC)) for k in (-1000, 30)]
    assert [entry.t for entry in read_log(lines, ANCHOR)] == [START - 1000, START + 30]


def test_without_a_start_the_end_is_fitted_where_utc_does_not_fit():
    zone = dt.timezone(dt.timedelta(hours=-7))
    lines = [api(dt.datetime.fromtimestamp(START + k, zone)) for k in (-1000, 55)]
    assert [entry.t for entry in read_log(lines, ANCHOR)] == [START - 1000, START + 55]


def test_a_log_over_new_year():
    new_year = dt.datetime(2027, 1, 1, tzinfo=dt.UTC).timestamp()
    lines = [api(dt.datetime.fromtimestamp(new_year + k, dt.UTC)) for k in (-30, 30)]
    for start in (new_year - 60, new_year + 20):
        found = read_log(lines, LogAnchor(start, start + 120))
        assert [entry.t for entry in found] == [new_year - 30, new_year + 30]


def test_february_29():
    leap = dt.datetime(2028, 2, 29, 12, tzinfo=dt.UTC).timestamp()
    assert one(api(dt.datetime.fromtimestamp(leap, dt.UTC)), LogAnchor(leap, leap + 9)).t == leap


def test_within_keeps_loose_lines_with_the_line_before():
    lines = [line("a", 1.0), line("b", None), line("c", 2.0), line("d", None), line("e", 9.0), line("f", None)]
    assert [entry.text for entry in within(lines, 2.0, 5.0)] == ["c", "d"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Chunked prefill is enabled with max_num_batched_tokens=8192.", ("chunked_prefill", 8192)),
        ("Using max model len 16384", ("max_model_len", 16384)),
        ("Model loading took 13.5 GiB and 1.832158 seconds", ("model_loading", 13.5 * 2**30)),
        ("Model loading took 13.5 GiB memory and 1.832158 seconds", ("model_loading", 13.5 * 2**30)),
        ("Loading model weights took 12.5523 GB", ("model_loading", 12.5523 * 2**30)),
        ("Available KV cache memory: 114.02 GiB", ("kv_memory", 114.02 * 2**30)),
        ("GPU KV cache size: 934,048 tokens", ("kv_size", 934048)),
        (
            "CPU KV cache size: 65,536 tokens, Maximum concurrency for 4,096 tokens per request: 16.00x",
            ("kv_size", 65536),
        ),
        ("# GPU blocks: 27500, # CPU blocks: 2048", ("kv_blocks", 27500)),
        ("Overriding num_gpu_blocks=58378 with num_gpu_blocks_override=2500", ("kv_blocks_override", 2500)),
        ("Auto-fit max_model_len: reduced from 131072 to 40960 to fit in 10 GiB", ("max_model_len_reduced", 40960)),
        ("Graph capturing finished in 4 secs, took 0.98 GiB", ("graph_capture", 0.98 * 2**30)),
        ("CUDA graph pool memory: 0.95 GiB (actual), 0.9 GiB (estimated), x", ("graph_memory", 0.95 * 2**30)),
        (
            "init engine (profile, create kv cache, warmup model) took 10.99 s (compilation: 3.76 s)",
            ("engine_ready", 10.99),
        ),
        ("Starting profiler...", ("profiler_start", None)),
        ("Max profiling iterations reached. Stopping profiler...", ("profiler_stopping", None)),
        ("Profiler stopped successfully.", ("profiler_stop", None)),
        ("Profiler with mode 'torch' is enabled in the API server.", ("profiler_configured", None)),
        (
            "Triton kernel x during inference: y. This causes a latency spike; consider extending warmup",
            ("jit_compile", None),
        ),
        ("GC took 1520.250ms to complete. 12 objects", ("gc_pause", 1.52025)),
        (
            "Sequence group 3 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. "
            "x total_num_cumulative_preemption=51",
            ("preemption", 51),
        ),
        ("The engine is currently busy and cannot accept new requests. Try", ("admission_rejected", None)),
        ("The engine has reached its prefill token backlog limit. Try", ("admission_rejected", None)),
        ("No available shared memory broadcast block found in 60 seconds. This", ("shm_stall", 60)),
        ("TimeoutError: RPC call to execute_model timed out.", ("rpc_timeout", None)),
        (
            "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, "
            "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.",
            ("nccl_timeout", 600.029),
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", ("out_of_memory", None)),
        ("No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", ("no_kv_memory", None)),
        (
            "To serve at least one request with the model's max seq len (131072), (16 GiB",
            ("model_len_does_not_fit", None),
        ),
        ("EngineCore failed to start.", ("engine_start_failed", None)),
        ("EngineCore encountered a fatal error.", ("engine_dead", None)),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore", ("engine_dead", None)),
        ("Engine core process EngineCore_DP0 died unexpectedly.", ("engine_dead", None)),
        ("Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.", ("worker_dead", -9)),
        ("Dumping scheduler stats: SchedulerStats(num_running_reqs=3)", ("engine_dump", None)),
        ("This model's maximum context length is 4096 tokens. However, your prompt", ("prompt_too_long", 4096)),
        (
            "SpecDecoding metrics: Mean acceptance length: 2.1, Avg Draft acceptance rate: 61.5%",
            ("spec_decode_stats", 0.615),
        ),
        ("Engine 000: MFU: 312.5 TF/s/device 900.0 GB/s/device", ("mfu_stats", 312.5e12)),
        ("KV Transfer metrics: Num successful transfers=3", ("kv_transfer_stats", None)),
        ("**CUDAGraph Config Settings:**", ("graph_stats", None)),
        ("Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup.", ("enforce_eager", None)),
        ("Async scheduling will be disabled because it is not supported with x", ("async_scheduling_off", None)),
        ("Request cmpl-1 aborted.", ("request_aborted", None)),
        ("Application shutdown complete.", ("shutdown", None)),
        ("the profile of the season", None),
        ("I shouted that the plan was aborted.", None),
    ],
)
def test_events(text, wanted):
    found = event(text)
    if wanted is None or found is None:
        assert found == wanted
    else:
        assert found[0] == wanted[0]
        assert found[1] == (None if wanted[1] is None else pytest.approx(wanted[1]))


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


def test_event_ids_are_plain_words():
    for pattern in EVENTS:
        assert pattern.id.replace("_", "").isalpha()
        assert len(pattern.words) > 3

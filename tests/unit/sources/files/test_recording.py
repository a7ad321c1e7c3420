"""Recordings whole, cut short and broken: what can be handled is handled and named, the rest refused by name."""

import gzip
import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from whystall.errors import InputError, NotARecording, NotMetrics, TooLarge
from whystall.sources.files import log_file, recording, stream
from whystall.sources.files.clock import risen
from whystall.sources.files.notices import notice_ids
from whystall.sources.files.recording import argv_of, read_recording, version_of
from whystall.sources.files.scrapes import Scrape, scrapes

T0 = 1796000000.0


def page(number, series=3):
    head = "# TYPE vllm:generation_tokens_total counter\n"
    body = "".join(f'vllm:generation_tokens_total{{engine="{k}"}} {100.0 * number + k}\n' for k in range(series))
    return head + body + f"vllm:num_requests_running {float(number)}\n"


def scraped(number, t=None, text=None):
    return f"# scrape {T0 + number if t is None else t}\n{page(number) if text is None else text}"


def write(folder, text, name="metrics.prom"):
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def warned(found):
    return {warning.id: warning for warning in found.warnings}


def row(found, name):
    (number,) = [k for k, key in enumerate(found.metrics.keys) if key.name == name]
    return found.metrics.values[number]


@pytest.mark.parametrize("name", ["metrics.prom", "metrics.prom.gz"])
def test_a_recording_plain_or_gzip(tmp_path, name):
    found = read_recording(write(tmp_path, "".join(map(scraped, range(5))), name))
    assert found.metrics.times.tolist() == [T0 + k for k in range(5)]
    assert row(found, "vllm:num_requests_running").tolist() == [0, 1, 2, 3, 4]
    assert found.target.kind == "recording"
    assert found.warnings == ()
    assert (found.gpu, found.host, found.client, found.log, found.spans) == (None, None, None, (), ())


def test_a_metrics_file_alone(tmp_path):
    write(tmp_path, scraped(0) + scraped(1), "anything.gz")
    assert len(read_recording(tmp_path / "anything.gz").metrics.times) == 2


def test_one_bare_page_has_the_files_time(tmp_path):
    write(tmp_path, page(1).rstrip("\n"))
    found = read_recording(tmp_path / "metrics.prom")
    assert found.metrics.times.tolist() == [(tmp_path / "metrics.prom").stat().st_mtime]
    assert len(found.metrics.keys) == 4


def test_several_gzip_members(tmp_path):
    (tmp_path / "metrics.prom.gz").write_bytes(b"".join(gzip.compress(scraped(k).encode()) for k in range(50)))
    found = read_recording(tmp_path)
    assert len(found.metrics.times) == 50
    assert found.warnings == ()


def noisy(number):
    dice = random.Random(number)
    return scraped(number, text=page(number) + "".join(f"x{k} {dice.random()}\n" for k in range(200)))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.77, 0.999])
def test_a_gzip_cut_short_gives_its_whole_pages(tmp_path, share):
    data = gzip.compress("".join(map(noisy, range(40))).encode())
    (tmp_path / "metrics.prom.gz").write_bytes(data[: int(len(data) * share)])
    found = read_recording(tmp_path)
    assert "truncated_gzip" in warned(found)
    assert 40 * share - 4 < len(found.metrics.times) <= 40
    assert np.isfinite(found.metrics.values).all()


def test_a_gzip_cut_within_its_last_member(tmp_path):
    parts = [gzip.compress(noisy(k).encode()) for k in range(10)]
    (tmp_path / "metrics.prom.gz").write_bytes(b"".join(parts)[:-40])
    found = read_recording(tmp_path)
    assert {"truncated_gzip", "cut_page"} <= set(warned(found))
    assert len(found.metrics.times) == 9


def test_a_damaged_gzip_gives_what_came_before(tmp_path):
    parts = [gzip.compress(noisy(k).encode()) for k in range(10)]
    parts[6] = b"\x1f\x8b" + b"\xff" * 50
    (tmp_path / "metrics.prom.gz").write_bytes(b"".join(parts))
    found = read_recording(tmp_path)
    assert "damaged_gzip" in warned(found)
    assert len(found.metrics.times) == 6


def test_padding_after_a_gzip_is_no_damage(tmp_path):
    (tmp_path / "metrics.prom.gz").write_bytes(gzip.compress((scraped(0) + scraped(1)).encode()) + b"\0" * 1000)
    assert read_recording(tmp_path).warnings == ()


def test_a_page_cut_at_the_end_is_left_out(tmp_path):
    text = scraped(0) + scraped(1) + scraped(2)
    found = read_recording(write(tmp_path, text[:-30]))
    assert "cut_page" in warned(found)
    assert len(found.metrics.times) == 2
    found = read_recording(write(tmp_path, text[:-12]))  # within a line
    assert "cut_page" in warned(found)
    assert len(found.metrics.times) == 2
    found = read_recording(write(tmp_path, text + "# scrape 17960"))
    assert len(found.metrics.times) == 3


def test_failed_scrapes_are_kept_with_their_errors(tmp_path):
    text = scraped(0) + f"# scrape {T0 + 1} failed TimeoutError: slow\n" + scraped(2)
    found = read_recording(write(tmp_path, text))
    assert [(fail.t, fail.error) for fail in found.metrics.failed] == [(T0 + 1, "TimeoutError: slow")]
    assert warned(found)["failed_scrapes"].text.en == "1 of 3 scrapes failed"
    assert warned(found)["failed_scrapes"].text.zh == "3 次抓取中有 1 次失败"


def test_a_page_that_is_none_counts_as_lost(tmp_path):
    text = scraped(0) + scraped(1, text="<html>502</html>\n") + scraped(2)
    found = read_recording(write(tmp_path, text))
    assert len(found.metrics.times) == 2
    assert found.metrics.failed[0].error.startswith("NotMetrics: ")
    assert "HTML" in warned(found)["bad_page"].text.en


def test_a_clock_that_steps_back_rises(tmp_path):
    times = [0, 1, 2, 3, -96, -95, -94]
    text = (
        "".join(scraped(k, T0 + t) for k, t in enumerate(times))
        + f"# scrape {T0 - 93} failed X\n"
        + scraped(8, T0 - 92)
    )
    found = read_recording(write(tmp_path, text))
    assert np.diff(found.metrics.times).tolist() == [1, 1, 1, 1, 1, 1, 2]
    assert found.metrics.failed[0].t == T0 + 7
    assert row(found, "vllm:num_requests_running").tolist() == [0, 1, 2, 3, 4, 5, 6, 8]
    assert "1 times" in warned(found)["clock_step"].text.en


def test_scrapes_of_the_same_time_keep_the_later_page(tmp_path):
    found = read_recording(write(tmp_path, scraped(0) + scraped(1, T0 + 1) + scraped(7, T0 + 1) + scraped(2)))
    assert found.metrics.times.tolist() == [T0, T0 + 1, T0 + 2]
    assert row(found, "vllm:num_requests_running").tolist() == [0, 7, 2]
    assert "duplicate_scrape" in warned(found)


def test_samples_that_no_counter_has_count_as_not_seen(tmp_path):
    bad = page(1).replace("100.0", "-5").replace("101.0", "NaN").replace("102.0", "+Inf")
    found = read_recording(write(tmp_path, scraped(0) + scraped(1, text=bad) + scraped(2)))
    counters = [k for k, key in enumerate(found.metrics.keys) if key.name == "vllm:generation_tokens_total"]
    assert np.isnan(found.metrics.values[counters, 1]).all()
    assert np.isfinite(found.metrics.values[:, [0, 2]]).all()
    assert warned(found)["negative_counter"].text.en.startswith("2 counter samples")
    assert warned(found)["nan_values"].text.en.startswith("1 counter")


def test_gauges_may_be_anything(tmp_path):
    found = read_recording(write(tmp_path, scraped(0, text="g -3\nh NaN\ni +Inf\n")))
    np.testing.assert_array_equal(found.metrics.values[:, 0], [-3, np.nan, np.inf])
    assert found.warnings == ()


def test_duplicate_series_are_counted(tmp_path):
    found = read_recording(write(tmp_path, scraped(0, text=page(0) + "vllm:num_requests_running 9\n") + scraped(1)))
    assert row(found, "vllm:num_requests_running").tolist() == [9, 1]
    assert "duplicate_series" in warned(found)


def test_a_page_of_another_program_is_read(tmp_path):
    found = read_recording(write(tmp_path, "up 1\nnode_load1 0.5\n"))
    assert [key.name for key in found.metrics.keys] == ["up", "node_load1"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("<html><body>Login</body></html>", "HTML"),
        ("", "no whole page"),
        ("\n\n", "no whole page"),
        ("# scrape 1\n", "no whole page"),
        ("# scrape 1796000000 failed TimeoutError\n", "all 1 scrapes failed"),
        ("# scrape x\na 1\n", "all 1 scrapes failed"),
        ("{}", "metrics.prom: line 1"),
        (b"\x00\x01\x02" * 100, "binary"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "metrics.prom: line 1"),
        ('# scrape 1796000000\na{b="', "no whole page"),
    ],
)
def test_what_holds_no_page_is_refused(tmp_path, text, says):
    with pytest.raises(NotMetrics) as refused:
        read_recording(write(tmp_path, text))
    assert says in refused.value.message
    assert refused.value.hint
    assert refused.value.exit_code == 2


def test_what_is_no_recording_is_refused(tmp_path):
    with pytest.raises(NotARecording, match="is empty"):
        read_recording(tmp_path)
    write(tmp_path, "x", "notes.txt")
    with pytest.raises(NotARecording, match="has no metrics") as refused:
        read_recording(tmp_path)
    assert "whystall record" in refused.value.hint
    with pytest.raises(NotARecording, match="no file or folder"):
        read_recording(tmp_path / "missing")


def test_a_file_that_cannot_be_read(tmp_path):
    (tmp_path / "metrics.prom").mkdir()
    with pytest.raises(NotARecording):
        read_recording(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        list(stream.Stream(tmp_path / "metrics.prom", 10))


def test_over_the_limit_is_refused_without_reading_it(tmp_path):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"\0" * 30_000_000))
    with pytest.raises(TooLarge, match="more than the 10 MB"):
        stream.read_all(tmp_path / "bomb.gz", 10_000_000)


def test_a_part_over_its_limit_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "_TEXT_LIMIT", 1000)
    write(tmp_path, scraped(0))
    write(tmp_path, "x" * 2000, "server_info.json")
    found = read_recording(tmp_path)
    assert found.server_info == ""
    assert warned(found)["unreadable_file"].file == "server_info.json"


GPU = {
    "t": T0,
    "gpu": 0,
    "name": "NVIDIA H200",
    "util_gpu_pct": 50,
    "power_w": 400.5,
    "sm_clock_mhz": 1980,
    "pcie_tx_kbps": 3,
}


def lines(*rows):
    return "".join((text if isinstance(text, str) else json.dumps(text)) + "\n" for text in rows)


def test_gpu_rows(tmp_path):
    write(tmp_path, scraped(0))
    rows = lines(
        GPU, GPU | {"gpu": 1, "throttle_reasons": 4}, GPU | {"t": T0 - 50, "power_w": None, "sm_max_clock_mhz": 1980}
    )
    write(tmp_path, rows + '{"t": 1, "gpu"\nnonsense\n[1]\n{"t": "x"}\n\n', "gpu.jsonl.gz")
    found = read_recording(tmp_path)
    assert found.gpu.gpu.tolist() == [0, 1, 0]
    assert found.gpu.t.tolist() == [T0, T0, T0 + 1]
    assert found.gpu.util_ratio.tolist() == [0.5, 0.5, 0.5]
    assert found.gpu.throttle_reasons.tolist() == [-1, 4, -1]
    assert found.gpu.pcie_tx_bytes_per_s[0] == 3000
    assert math.isnan(found.gpu.power_w[2])
    assert math.isnan(found.gpu.temp_c[0])
    assert found.gpu.sm_max_clock_hz == 1980e6
    assert warned(found)["bad_lines"].text.en.startswith("4 lines of gpu.jsonl.gz")
    assert "clock_step" in warned(found)


def host(t, busy, **process):
    jiffies = {"user": busy, "idle": 100.0 * t - busy, "iowait": 0}
    processes = [{"name": "EngineCore_DP0", "pid": 7, "cpu_s": t, "rss_bytes": 5, **process}]
    return {"t": T0 + t, "loadavg": [1.5, 1, 1], "cpus": 4, "cpu_jiffies": jiffies, "processes": processes}


def test_host_rows(tmp_path):
    write(tmp_path, scraped(0))
    last = host(3, 150) | {
        "processes": [
            {"name": "VLLM::APIServer", "pid": 8, "cpu_s": 1},
            {"name": "Worker_TP0", "pid": 9},
            {"name": "sh", "pid": 1},
        ],
        "psi_cpu_some_s": 2.5,
        "cgroup": {"throttled_s": 1.0, "periods": 30, "throttled_periods": 10, "cpu_quota": 2.0},
        "mem_available_bytes": 1e9,
    }
    middle = host(2, 100, run_delay_s=0.5, allowed_cpus=2) | {
        "psi_cpu_some_s": 2.0,
        "cgroup": {"throttled_s": 0.5, "periods": 20, "throttled_periods": 5},
    }
    write(tmp_path, lines(host(1, 50), middle, last), "host.jsonl")
    found = read_recording(tmp_path).host
    np.testing.assert_allclose(found.busy_ratio, [np.nan, 0.5, 0.5])
    assert found.load1.tolist() == [1.5, 1.5, 1.5]
    assert (found.cpus, found.cpu_quota) == (4, 2.0)
    engine, api, worker, other = found.processes
    assert [process.role for process in (engine, api, worker, other)] == ["engine", "api", "worker", "other"]
    np.testing.assert_array_equal(engine.cpu_s, [1, 2, np.nan])
    np.testing.assert_array_equal(engine.run_delay_s, [np.nan, 0.5, np.nan])
    assert engine.allowed_cpus == 2
    np.testing.assert_array_equal(found.psi_cpu_ratio, [np.nan, np.nan, 0.5])
    np.testing.assert_array_equal(found.throttled_periods_ratio, [np.nan, np.nan, 0.5])
    np.testing.assert_array_equal(found.throttled_s, [np.nan, 0.5, 1.0])
    assert found.mem_available_bytes[2] == 1e9


def test_requests(tmp_path):
    write(tmp_path, scraped(0))
    good = {"intended": T0 + 1, "sent": T0 + 1.5, "prompt_tokens": 10, "ttft": 0.5, "e2e": 2, "error": None}
    failed = {"intended": T0, "sent": T0, "ttft": None, "error": "http 503"}
    write(tmp_path, lines(good, failed) + f'{{"sent": {T0}, "ttft": NaN}}\n{{}}\n', "requests.jsonl")
    found = read_recording(tmp_path).client
    assert found.sent.tolist() == [T0, T0, T0 + 1.5]
    assert found.error == ("http 503", None, None)
    np.testing.assert_array_equal(found.ttft_s, [np.nan, np.nan, 0.5])
    assert found.intended[1] == T0


def test_spans(tmp_path):
    attributes = [
        {"key": "gen_ai.request.id", "value": {"stringValue": "r1"}},
        {"key": "gen_ai.latency.time_in_queue", "value": {"doubleValue": 0.25}},
        {"key": "gen_ai.usage.prompt_tokens", "value": {"intValue": "93"}},
        {"key": "gen_ai.latency.e2e", "value": {"arrayValue": {}}},
    ]
    span = {
        "name": "llm_request",
        "startTimeUnixNano": f"{T0:.0f}000000000",
        "endTimeUnixNano": f"{T0 + 2:.0f}000000000",
    }
    spans = [
        span | {"attributes": attributes},
        span | {"name": "Worker init"},
        span | {"endTimeUnixNano": "x"},
        {"name": "llm_request"},
    ]
    write(tmp_path, scraped(0))
    write(tmp_path, lines({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, "{"), "spans.jsonl")
    found = read_recording(tmp_path)
    (row_,) = found.spans
    assert (row_.start, row_.end, row_.request_id, row_.queue_s, row_.prompt_tokens) == (T0, T0 + 2, "r1", 0.25, 93)
    assert math.isnan(row_.e2e_s)
    assert math.isnan(row_.ttft_s)
    assert "bad_lines" in warned(found)


def test_the_small_files(tmp_path):
    write(tmp_path, scraped(0))
    write(tmp_path, '{"version": "0.26.0"}', "version.json")
    write(tmp_path, '{"data": []}', "models.json")
    write(tmp_path, '{"vllm_config": ""}', "server_info.json.gz")
    write(tmp_path, lines({"t": T0, "status": 200}, {"t": T0 + 1, "status": 0}, {"status": 1}), "health.jsonl")
    write(tmp_path, '["vllm", "serve"]', "argv.json")
    found = read_recording(tmp_path)
    assert (found.version, found.models, found.server_info) == ("0.26.0", '{"data": []}', '{"vllm_config": ""}')
    assert [health.status for health in found.health] == [200, 0]
    assert found.argv == ("vllm", "serve")


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ('["a", "b c"]', ("a", "b c")),
        ('{"argv": ["a"]}', ("a",)),
        ('"a b"', ("a", "b")),
        ("a 'b c'", ("a", "b c")),
        ("a 'b", ("a", "'b")),
        ("", ()),
        ("{}", ()),
    ],
)
def test_command_lines(text, argv):
    assert argv_of(text) == argv


@pytest.mark.parametrize("body", ["", "{", "[]", '{"version": 3}', "<html>", "[" * 100_000])
def test_no_version(body):
    assert version_of(body) == ""


def test_a_log_that_is_not_utf8(tmp_path):
    write(tmp_path, scraped(0))
    write(tmp_path, b"(APIServer pid=1) INFO 11-30 00:53:20 [a.py:1] caf\xe9 \xff\nplain\n", "server.log")
    found = read_recording(tmp_path)
    assert found.log[0].text == "caf\ufffd \ufffd"
    assert warned(found)["not_utf8_log"].text.en.endswith("2 characters were replaced")


def test_a_long_log_keeps_both_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "HEAD_BYTES", 1000)
    monkeypatch.setattr(log_file, "TAIL_BYTES", 5000)
    monkeypatch.setattr(stream, "_READ_BYTES", 4096)
    write(tmp_path, "".join(f"line {k}\n" for k in range(100_000)), "server.log")
    found = log_file.read_log_file(tmp_path / "server.log")
    assert found.lines[0] == "line 0"
    assert found.lines[-2:] == ("line 99999", "")
    assert all(line.startswith("line ") for line in found.lines[:-1])
    assert len(found.lines) < 2000
    assert [warning.id for warning in found.warnings] == ["long_log"]


def test_scrapes_are_cut_at_any_piece():
    text = (scraped(0) + scraped(1) + f"# scrape {T0 + 2} failed X\n" + scraped(3)).encode()
    whole = list(scrapes([text]))
    assert [scrape.t for scrape in whole] == [T0, T0 + 1, T0 + 2, T0 + 3]
    assert whole[2] == Scrape(T0 + 2, b"", "X")
    for size in (1, 3, 7, 64, 200):
        assert list(scrapes(text[at : at + size] for at in range(0, len(text), size))) == whole


def test_a_marker_within_a_line_is_none():
    (scrape,) = scrapes([b'# HELP a x # scrape 5\na{b="# scrape 3"} 1\n'])
    assert scrape.t is None


def test_risen_leaves_rising_times_alone():
    times = np.array([1.0, 1.0, 2.0, 9.0])
    assert risen(times) == (times, 0)
    assert risen(np.zeros(0))[1] == 0
    moved, steps = risen(np.array([5.0, 4.0, 3.0]))
    assert (moved.tolist(), steps) == ([5, 6, 7], 2)


def test_every_shared_recording_is_read_whole(shared):
    folders = sorted(path for path in (shared / "recordings").iterdir() if path.is_dir())
    assert len(folders) == 19
    for folder in folders:
        found = read_recording(folder)
        assert found.warnings == (), folder.name
        assert len(found.metrics.times) > 30
        assert found.client is not None
        assert found.log
        assert (found.gpu is None) == (not any(folder.glob("gpu.jsonl*")))
        assert (found.host is None) == (not any(folder.glob("host.jsonl*")))
        if found.host is not None:
            assert {"api", "engine", "worker"} <= {process.role for process in found.host.processes}
    assert len(read_recording(shared / "recordings/cpu_traced").spans) == 78


def test_warnings_are_said_in_two_languages():
    assert len(set(notice_ids())) == len(notice_ids())


def test_every_warning_is_documented():
    text = (Path(__file__).parents[4] / "docs/bad-input.md").read_text()
    assert [kind for kind in notice_ids() if f"`{kind}`" not in text] == []


def test_a_log_that_had_to_be_fitted(tmp_path):
    write(tmp_path, scraped(0) + scraped(60))
    write(tmp_path, "(APIServer pid=1) INFO 11-30 05:54:00 [a.py:1] x\n", "server.log")
    assert "log_clock" in warned(found := read_recording(tmp_path))
    assert found.log[0].t == T0 + 40

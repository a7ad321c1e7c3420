"""Recordings: the folder and its parts; what is none is refused by name."""

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorded_text import T0, lines, page, row, scraped, warned, write
from whystall.errors import InputError, NotARecording
from whystall.sources.configuration import read_configuration
from whystall.sources.files import recording
from whystall.sources.files.recording import argv_of, read_recording, version_of
from whystall.sources.log import read_events


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


def test_a_page_of_another_program_is_read(tmp_path):
    found = read_recording(write(tmp_path, "up 1\nnode_load1 0.5\n"))
    assert [key.name for key in found.metrics.keys] == ["up", "node_load1"]


def test_what_is_no_recording_is_refused(tmp_path):
    with pytest.raises(NotARecording, match="is empty"):
        read_recording(tmp_path)
    write(tmp_path, "x", "notes.txt")
    with pytest.raises(NotARecording, match="has no metrics") as refused:
        read_recording(tmp_path)
    assert "whystall record" in refused.value.hint
    with pytest.raises(NotARecording, match="no file or folder"):
        read_recording(tmp_path / "missing")


def test_a_folder_of_recordings_names_them(tmp_path):
    for number in range(recording._NAMED + 2):
        folder = tmp_path / f"r{number:02}"
        folder.mkdir()
        write(folder, scraped(0), "metrics.prom.gz")
    (tmp_path / "r00" / "metrics.prom").write_text("")  # a recorder stopped between the two
    with pytest.raises(NotARecording) as refused:
        read_recording(tmp_path)
    assert refused.value.hint == "It holds recordings; name one: r00, r01, r02, r03, r04, r05, r06, r07 and 2 more"


def test_a_part_over_its_limit_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "_TEXT_LIMIT", 1000)
    write(tmp_path, scraped(0))
    write(tmp_path, "x" * 2000, "server_info.json")
    found = read_recording(tmp_path)
    assert found.server_info == ""
    assert warned(found)["unreadable_file"].file == "server_info.json"


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


def test_a_log_that_had_to_be_fitted(tmp_path):
    write(tmp_path, scraped(0) + scraped(60))
    write(tmp_path, "(APIServer pid=1) INFO 11-30 05:54:00 [a.py:1] x\n", "server.log")
    assert "log_clock" in warned(found := read_recording(tmp_path))
    assert found.log[0].t == T0 + 40


FILES = {
    "metrics.prom": "".join(scraped(k) for k in range(4)),
    "gpu.jsonl": lines({"t": T0, "gpu": 0, "util_gpu_pct": 5}),
    "host.jsonl": lines({"t": T0, "processes": [{"name": "APIServer", "pid": 1}]}),
    "requests.jsonl": lines({"sent": T0, "ttft": 0.5}),
    "spans.jsonl": lines({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "llm_request"}]}]}]}),
    "server.log": "(APIServer pid=1) INFO 11-30 00:53:20 [a.py:1] non-default args: {'max_num_seqs': 4}\n",
    "server_info.json": '{"vllm_config": "max_seq_len=4, compilation_config={}"}',
    "version.json": '{"version": "0.26.0"}',
    "argv.json": '["vllm", "serve", "-tp", "2"]',
    "health.jsonl": lines({"t": T0, "status": 200}),
}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.data())
def test_a_file_with_any_bytes_in_it_is_read_or_refused_by_name(name, data):
    text = FILES[name].encode()
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    changed = text[:start] + data.draw(st.binary(max_size=20)) + text[end:]
    packed = gzip.compress(changed)
    with tempfile.TemporaryDirectory() as folder:
        for other, whole in FILES.items():
            (Path(folder) / other).write_text(whole)
        (Path(folder) / name).unlink()
        (Path(folder) / f"{name}.gz").write_bytes(packed[: data.draw(st.sampled_from([len(packed), len(packed) // 2]))])
        found = read_or_refuse(Path(folder))
    assert found is not None or name == "metrics.prom"
    if found is not None:
        read_configuration(found)
        read_events(found.log)


def read_or_refuse(folder):
    """None where the recording was refused by name."""
    try:
        return read_recording(folder)
    except InputError:
        return None

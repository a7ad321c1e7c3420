"""``whystall trace`` from its command line to what it prints and writes."""

import gzip
import json
from pathlib import Path

import jsonschema
import pytest

from chrome_trace import BASE_US, annotation, call, document, kernel, render, write
from whystall.cli import run
from whystall.reports.schema import schema

BASE = 1_790_857_026_000_000_000
HOSTILE = 'evil</script><img src=x onerror="alert(1)">\x1b[31m'


def events(attention: float = 30.0) -> list[dict]:
    found = []
    for n in range(4):
        at, step = (
            1000 * n,
            "execute_context_1(9)_generation_0(0)" if n == 0 else "execute_context_0(0)_generation_2(2)",
        )
        found += [
            annotation(step, at, 100),
            call("cudaLaunchKernel", at + 1, 1, n),
            call("cudaLaunchKernel", at + 9, 1, 9 + n),
        ]
        found += [kernel("flash_fwd", at + 5, attention, n), kernel(HOSTILE, at + 300, 10, 9 + n)]
    return found


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    header = {"baseTimeNanoseconds": BASE, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]}
    return write(tmp_path, render(document(events(), **header)), "a.json")


@pytest.fixture
def spans(tmp_path: Path) -> Path:
    latency = {"time_to_first_token": 0.0005, "time_in_queue": 0.0001, "time_in_model_prefill": 0.0003}
    latency["time_in_model_decode"] = 0.003
    attributes = [{"key": f"gen_ai.latency.{name}", "value": {"doubleValue": value}} for name, value in latency.items()]
    attributes.append({"key": "gen_ai.request.id", "value": {"stringValue": "cmpl-1"}})
    start = BASE + BASE_US * 1000
    span = {"traceId": "t", "spanId": "s", "name": "llm_request", "attributes": attributes}
    span |= {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 3_600_000)}
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    return path


def answer(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_text_says_it_in_the_first_line(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", str(profile), "--lang", "en"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The GPU is busy 5% of 3.3 ms; ")
    for title in ("Where the GPU's time went", "Steps by phase", "Top kernels", "Critical path", "Notes"):
        assert title in out
    assert "\x1b" not in out


def test_chinese(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", str(profile), "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    assert "GPU 时间去向" in out
    assert "Top kernels" not in out


def test_json_keeps_to_its_schema(profile: Path, spans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", str(profile), str(spans), "--json"]) == 0
    body = answer(capsys)
    jsonschema.validate(body, schema("trace"), cls=jsonschema.Draft202012Validator)
    assert [file["format"] for file in body["files"]] == ["pytorch", "otlp"]
    timeline = body["files"][0]["timeline"]
    assert timeline["busy_ns"] == 160_000
    assert [step["phase"] for step in timeline["steps"]] == ["prefill", "decode", "decode", "decode"]


def test_markdown_and_html_escape_names(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", str(profile), "--format", "markdown"]) == 0
    assert "<img" not in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert run(["trace", str(profile), "-o", str(page)]) == 0
    assert "<img src=x" not in page.read_text("utf-8")
    assert "Content-Security-Policy" in page.read_text("utf-8")


def test_diff(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write(tmp_path, render(document(events(attention=50.0))), "b.json")
    assert run(["trace", "diff", str(profile), str(other), "--json"]) == 0
    body = answer(capsys)
    jsonschema.validate(body, schema("trace_diff"), cls=jsonschema.Draft202012Validator)
    assert (body["kernels"][0]["name"], body["kernels"][0]["b_ns"]) == ("flash_fwd", 50_000)
    assert run(["trace", "diff", str(profile), str(other), "--lang", "en"]) == 0
    assert capsys.readouterr().out.startswith("GPU time per step goes from 0.040 to 0.060 ms (+50%)")
    assert run(["trace", "diff", str(profile)]) == 2
    assert "needs two files" in capsys.readouterr().err


def test_one_request(profile: Path, spans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "perfetto.json"
    asked = ["trace", str(spans), str(profile), "--request", "cmpl-1", "--export", str(out)]
    assert run([*asked, "--json"]) == 0
    body = answer(capsys)
    jsonschema.validate(body, schema("trace_request"), cls=jsonschema.Draft202012Validator)
    assert [entry["during"] for entry in body["steps"]] == ["prefill", "decode", "decode", "decode"]
    assert {event["name"] for event in json.loads(out.read_text())["traceEvents"]} >= {"cmpl-1", "prefill", "flash_fwd"}
    assert run([*asked, "--lang", "en"]) == 0
    assert "Steps it was in" in capsys.readouterr().out
    assert run(["trace", str(profile), "--request", "cmpl-1"]) == 2
    assert "needs spans" in capsys.readouterr().err


def test_a_request_without_a_profile(spans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", str(spans), "--request", "cmpl-1", "--lang", "en"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("The request took 3.6 ms, 83% of it in decode.")
    assert "Steps it was in" not in out


def test_a_folder(profile: Path, spans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (profile.parent / "notes.txt").write_text("nothing")
    assert run(["trace", str(profile.parent), "--json"]) == 0
    assert [file["file"] for file in answer(capsys)["files"]] == ["a.json", "spans.json"]
    empty = profile.parent / "empty"
    empty.mkdir()
    assert run(["trace", str(empty)]) == 2


def test_a_window_for_perfetto(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "window.json"
    assert run(["trace", str(profile), "--export", str(out), "--window", "1ms-2ms"]) == 0
    rows = [event for event in json.loads(out.read_text())["traceEvents"] if event["ph"] == "X"]
    assert rows
    assert all(event["ts"] + event["dur"] >= 1000 and event["ts"] <= 2000 for event in rows)
    for bad in ("5", "2ms-1ms", "a-b"):
        assert run(["trace", str(profile), "--export", str(out), "--window", bad]) == 2


def test_tensorboard(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", str(profile), "--tensorboard", str(tmp_path / "logs")]) == 0
    (trace,) = (tmp_path / "logs").glob("*.pt.trace.json.gz")
    assert gzip.decompress(trace.read_bytes()).startswith(b"{")


def test_a_users_patterns(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patterns = tmp_path / "p.toml"
    patterns.write_text('[[pattern]]\nmatch = "^evil"\nclass = "attention"\n')
    assert run(["trace", str(profile), "--patterns", str(patterns), "--json"]) == 0
    (family,) = answer(capsys)["files"][0]["timeline"]["families"]
    assert (family["id"], family["share"]) == ("attention", 1.0)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8bbroken"])
def test_bad_files_are_clear_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    assert run(["trace", str(tmp_path / "x"), "--json"]) == 2
    assert answer(capsys)["schema"] == "whystall.error/1"
    assert run(["trace", str(tmp_path / "absent")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_cut_file_gives_a_partial_answer(profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.json"
    cut.write_bytes(profile.read_bytes()[:-900])
    assert run(["trace", str(cut), "--lang", "en"]) == 0
    assert "The list of events does not end" in capsys.readouterr().out.replace("\n    ", " ")

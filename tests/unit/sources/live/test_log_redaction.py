import gzip
from pathlib import Path

import pytest

from conftest import recording_names
from whystall.sources.live.log_redaction import REMOVED, LogRedactor
from whystall.sources.live.pseudonyms import Pseudonyms
from whystall.sources.live.scrubber import Scrubber
from whystall.sources.log import read_events, read_iterations, read_log, read_stats
from whystall.sources.log_clock import LogAnchor

PREFIX = "(APIServer pid=7) INFO 11-30 00:45:35 [x.py:1] "


def redact(line: str) -> str | None:
    return LogRedactor(Scrubber(Pseudonyms())).line(line)


def test_a_line_that_no_diagnosis_reads_keeps_its_time_only() -> None:
    assert redact(f"{PREFIX}alice says hello") == PREFIX + REMOVED
    assert redact("INFO:     10.1.2.3:5 - GET /alice") == f"INFO:     {REMOVED}"
    assert redact("ValueError: tell me of acme") is None


@pytest.mark.parametrize("before", ["acme-pod-1 vllm ", "acme-1  | ", "[pod/acme/vllm] "])
def test_the_name_of_a_pod_before_a_line_goes(before: str) -> None:
    assert redact(before + PREFIX + "Using max model len 4096") == PREFIX + "Using max model len 4096"
    assert redact(before + PREFIX + "hello") == PREFIX + REMOVED


@pytest.mark.parametrize(
    "text",
    [
        "Received request alice-1: prompt: 'tell me of acme', params: x",
        "Aborted request(s) alice-1, acme-2.",
        "Dumping input data for V1 LLM engine (v0.26) with config: model='acme', prompt_token_ids=[1, 2] alice",
        "This model's maximum context length is 4096 tokens. However, you requested acme, alice",
        "Using max model len 4096",
        "Initializing a V1 LLM engine (v0.26.0) with config: model='/acme/x', served_model_name=alice, max_seq_len=9",
        "non-default args: {'model': 'acme', 'api_key': ['alice'], 'max_num_seqs': 7}",
    ],
)
def test_what_a_diagnosis_reads_is_the_same_event_without_the_names(text: str) -> None:
    anchor = LogAnchor(0.0, 1.0)
    kept = redact(PREFIX + text)
    assert kept is not None
    assert "acme" not in kept
    assert "alice" not in kept
    before, after = (read_events(read_log([line], anchor)) for line in (PREFIX + text, kept))
    assert before
    assert [(event.id, event.value) for event in before] == [(event.id, event.value) for event in after]


def test_json_logs() -> None:
    line = (
        '{"timestamp": "2026-11-30T00:45:35Z", "level": "INFO", "message": "Using max model len 4096", "user": "alice"}'
    )
    kept = redact(line)
    assert kept is not None
    assert "alice" not in kept
    assert read_events(read_log([kept], LogAnchor(0.0, 1.0)))[0].value == 4096
    assert redact('{"message": ["alice"]}') == "{}"
    assert redact("{alice") is None


@pytest.mark.parametrize("name", recording_names())
def test_a_real_log_says_the_same_without_its_names(shared: Path, name: str) -> None:
    text = gzip.decompress((shared / "recordings" / name / "server.log.gz").read_bytes()).decode("utf-8", "replace")
    lines = text.split("\n")
    redactor = LogRedactor(Scrubber(Pseudonyms()))
    kept = [line for line in map(redactor.line, lines) if line is not None]
    assert not any(word in "\n".join(kept) for word in ("/models/", "/var/", "l8", "m8b", "m1b"))
    before, after = (read_log(each, LogAnchor(1.7959e9, 1.7961e9)) for each in (lines, kept))
    assert [(e.id, e.t, e.value) for e in read_events(before)] == [(e.id, e.t, e.value) for e in read_events(after)]
    assert repr(read_stats(before)) == repr(read_stats(after))
    assert repr(read_iterations(before)) == repr(read_iterations(after))

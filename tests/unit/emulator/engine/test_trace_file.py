"""Traces as files: public ones and our own, plain and packed; what is none is refused by its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from whystall.emulator.engine.workload import Arrival, read_trace
from whystall.errors import InputError

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n2023-11-16 18:17:05.9799600,3180,8\n"
)
MOONCAKE = [{"timestamp": 0, "input_length": 100, "output_length": 5, "hash_ids": [1, 2]},
            {"timestamp": 1500, "input_length": 50, "output_length": 7, "hash_ids": [1]}]  # fmt: skip
OWN = [{"intended": 1000.5, "prompt_tokens": 20, "output_tokens": 3, "ttft": 0.1, "error": None},
       {"intended": 1000.0, "prompt_tokens": 10, "output_tokens": 0, "ttft": None, "error": "http 503"}]  # fmt: skip


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w") as file:
        file.write(text)
    return path


def test_azure_has_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(AZURE)
    assert read_trace(tmp_path / "a.csv") == [Arrival(0.0, 4808, 10), Arrival(2.0, 3180, 8)]
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write(AZURE)
    assert read_trace(tmp_path / "a.csv.gz") == read_trace(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_mooncake_has_hashes(tmp_path: Path, name: str) -> None:
    assert read_trace(written(tmp_path / name, MOONCAKE)) == [Arrival(0.0, 100, 5, (1, 2)), Arrival(1.5, 50, 7, (1,))]


def test_the_client_of_a_recording_is_a_trace_in_the_order_of_its_arrivals(tmp_path: Path) -> None:
    assert read_trace(written(tmp_path / "requests.jsonl.gz", OWN)) == [Arrival(0.0, 10, 1), Arrival(0.5, 20, 3)]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([MOONCAKE[0], {"timestamp": 1}], "line 2"),
        ([{"intended": "NaN", "prompt_tokens": 1, "output_tokens": 1}], "line 1"),
        ([{"timestamp": 1e999, "input_length": 1, "output_length": 1}], "line 1"),
        ([["intended"]], "line 1"),
        ([7], "line 1"),
    ],
)
def test_what_is_no_request_is_named_by_its_line(tmp_path: Path, rows: list[dict[str, object]], line: str) -> None:
    with pytest.raises(InputError, match=line):
        read_trace(written(tmp_path / "t.jsonl", rows))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.jsonl.xz", b"\xfd7zXZ\x00"),
        ("t.jsonl.gz", b"no gzip"),
        ("u.jsonl.gz", gzip.compress(json.dumps(MOONCAKE[0]).encode() + b"\n", mtime=0)[:-12]),
    ],
)
def test_other_archives_and_cut_ones_say_what_to_do(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as raised:
        read_trace(tmp_path / name)
    assert "unpack" in raised.value.hint


def test_a_line_without_an_end_is_not_read_to_it(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.jsonl.gz", "wb") as file:
        for _ in range(4):
            file.write(b" " * 1_000_000)
    with pytest.raises(InputError, match="longer than"):
        read_trace(tmp_path / "bomb.jsonl.gz")

"""Files that are something else than metrics: what each is called, and what reads it."""

import bz2
import json
import lzma
import sqlite3
from pathlib import Path

import pytest

from whystall.errors import NotMetrics
from whystall.sources.files.foreign import require_ours
from whystall.sources.files.metrics import read_metrics


def hint_of(start: bytes) -> tuple[str, str]:
    with pytest.raises(NotMetrics) as refused:
        require_ours("x", start)
    return refused.value.message, refused.value.hint


@pytest.mark.parametrize(
    ("start", "what", "how"),
    [
        (lzma.compress(b"a 1\n"), "packed with xz", "xz -d"),
        (bz2.compress(b"a 1\n"), "packed with bzip2", "bunzip2"),
        (b"PK\x03\x04...", "packed with zip", "unzip"),
        (b"\x7fELF\0\0", "a binary file", "whystall record"),
        (b'{"schemaVersion": 1, "traceEvents": [', "a profile or spans", "whystall trace"),
        (b' [{"traceId": "1"}]', "a profile or spans", "--trace FILE"),
        (json.dumps({"schema": "whystall.trial/1"}).encode(), "an answer of whystall (trial)", "recording"),
        (b'{"date": "x", "request_throughput": 3.1}', "a benchmark's result", "--a-result"),
        (b"INFO 11-30 10:09:00 [core.py:1] x\n", "a server's log", "--log FILE"),
        (b"(EngineCore_DP0 pid=9) WARNING 11-30 10:09:00 [core.py:1] x\n", "a server's log", "--log FILE"),
    ],
)
def test_what_it_is_and_what_reads_it(start: bytes, what: str, how: str) -> None:
    message, hint = hint_of(start)
    assert message == f"x is {what}, not a recording's metrics"
    assert how in hint


def test_a_database_of_sqlite(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.sqlite") as database:
        database.execute("create table a (b)")
    with pytest.raises(NotMetrics, match="a SQLite database"):
        read_metrics(tmp_path / "x.sqlite")


@pytest.mark.parametrize("start", [b"", b"# scrape 1796000000\na 1\n", b'{"my.metric", a="traceId"} 1\n', b"INFO 1\n"])
def test_metrics_and_what_the_parser_refuses_by_line_pass(start: bytes) -> None:
    require_ours("x", start)


def test_a_hole_of_a_terabyte_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(NotMetrics, match="a binary file"):
        read_metrics(tmp_path / "x")

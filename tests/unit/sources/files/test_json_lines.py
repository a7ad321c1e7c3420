"""JSON lines: what is no row is counted, never fatal."""

import pytest

from recorded_text import lines, write
from whystall.model.recording import Health
from whystall.sources.client import RequestRow
from whystall.sources.files.json_lines import read_rows

GOOD = {"t": 1.0, "status": 200}


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "nonsense",
        "[]",
        "null",
        '{"t": 1}',
        '{"t": "x", "status": 1}',
        '{"t": NaN',
        "[" * 100_000,
        '{"t":' * 50_000,
        "\ufffd",
    ],
)
def test_lines_that_are_no_rows(tmp_path, bad):
    write(tmp_path, lines(GOOD, bad, GOOD), "a.jsonl")
    found = read_rows(tmp_path / "a.jsonl", Health, 10**9)
    assert [row.status for row in found.rows] == [200, 200]
    assert found.bad_lines == 1


def test_bytes_that_are_no_text(tmp_path):
    write(tmp_path, b'{"t": 1, "status": 1}\n{"t": 2, "error": "\xff\xfe"}\n\x00\x01\n', "a.jsonl")
    assert read_rows(tmp_path / "a.jsonl", Health, 10**9).bad_lines == 2


def test_numbers_that_python_writes_and_json_lacks(tmp_path):
    write(tmp_path, '{"sent": 1, "ttft": NaN, "e2e": -Infinity}\n', "a.jsonl")
    (row,) = read_rows(tmp_path / "a.jsonl", RequestRow, 10**9).rows
    assert (row.sent, row.ttft, row.e2e) == (1, None, None)


def test_a_file_cut_short_loses_its_last_line(tmp_path):
    write(tmp_path, lines(*[GOOD] * 2000), "a.jsonl.gz")
    data = (tmp_path / "a.jsonl.gz").read_bytes()
    (tmp_path / "a.jsonl.gz").write_bytes(data[:-20])
    found = read_rows(tmp_path / "a.jsonl.gz", Health, 10**9)
    assert found.truncated
    assert found.bad_lines == 0
    write(tmp_path, lines(GOOD) + '{"t": 2, "status": 20', "b.jsonl")
    found = read_rows(tmp_path / "b.jsonl", Health, 10**9)
    assert (len(found.rows), found.bad_lines) == (1, 1)

import json
from pathlib import Path

import pytest

from whystall.profiles.files import TraceOptions, report_of
from whystall.profiles.report import TraceReport
from whystall.reports.trace_tables import sheets


def ids(report: TraceReport) -> list[str]:
    found = sheets(report, "en")
    for sheet in found:
        assert all(len(row) == len(sheet.header) == len(sheet.align) for row in sheet.rows)
    return [sheet.id for sheet in found]


def test_spans(shared: Path) -> None:
    assert ids(report_of([shared / "recordings/cpu_traced/spans.jsonl.gz"], TraceOptions())) == [
        "spans",
        "slowest",
        "names",
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","k","5"\n', ["counters", "access"]),
        (
            "INFO 11-30 01:36:24 [loggers.py:199] Engine 000: Iteration(0): 0 context requests, 0 context tokens, "
            "2 generation requests, 2 generation tokens, iteration elapsed time: 9.1 ms\n",
            ["iterations"],
        ),
        (
            json.dumps(
                {
                    "$schema": "https://www.speedscope.app/file-format-schema.json",
                    "shared": {"frames": [{"name": "schedule", "file": "scheduler.py"}]},
                    "profiles": [{"type": "sampled", "unit": "none", "samples": [[0]], "weights": [3]}],
                }
            ),
            ["groups", "functions"],
        ),
    ],
)
def test_other_kinds(tmp_path: Path, content: str, expected: list[str]) -> None:
    (tmp_path / "f").write_text(content)
    assert ids(report_of([tmp_path / "f"], TraceOptions())) == expected

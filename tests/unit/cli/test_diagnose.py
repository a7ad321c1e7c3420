"""``whystall diagnose`` with profiles beside the pages."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from whystall.cli import run
from whystall.errors import NotWritable

diagnose = importlib.import_module("whystall.cli.diagnose")  # the package's name for it is the command
TRACES = Path("traces") / "tp2_h200"
SEATS = Path("recordings") / "seq_cap"


def answer(capsys, *argv: str) -> tuple[int, dict]:
    code = run(["diagnose", *argv, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_profile_adds_evidence_and_is_named_as_read(data: Path, capsys) -> None:
    run_folder = data / TRACES / "healthy"
    ranks = [f"--trace={run_folder / name}" for name in ("rank0.pt.trace.json.gz", "rank1.pt.trace.json.gz")]
    _, diagnosis = answer(capsys, str(run_folder / "recording"), *ranks)
    assert "trace" in diagnosis["coverage"]["signals"]
    assert {e["id"] for e in diagnosis["evidence"] if e["from"] == "trace"} >= {
        "trace.exposed_collectives",
        "trace.skew",
    }


def test_a_profile_that_is_none_is_refused_by_name(data: Path, tmp_path: Path, capsys) -> None:
    wrong = tmp_path / "notes.txt"
    wrong.write_text("no trace\n")
    code, error = answer(capsys, str(data / TRACES / "healthy" / "recording"), f"--trace={wrong}")
    assert code == 2
    assert "notes.txt" in error["error"]


def test_a_healthy_recording_tells_what_is_usual(data: Path, capsys) -> None:
    folder = str(data / TRACES / "healthy" / "recording")
    _, alone = answer(capsys, folder)
    _, against = answer(capsys, folder, "--baseline", folder)
    assert not [e for e in alone["evidence"] if e["id"].startswith("baseline.")]
    compared = {e["id"]: e for e in against["evidence"] if e["id"].startswith("baseline.")}
    assert compared["baseline.itl"]["value"] == 1.0
    assert not [name for name in against["anomalies"] if name.startswith("baseline.")]


def test_a_baseline_that_is_not_there_is_refused_by_name(data: Path, capsys) -> None:
    code, error = answer(capsys, str(data / TRACES / "healthy" / "recording"), "--baseline", "./nowhere")
    assert code != 0
    assert "nowhere" in error["error"]


def test_with_a_file_the_three_lines_are_shown_all_the_same(data: Path, tmp_path: Path, capsys) -> None:
    page = tmp_path / "answer.html"
    assert run(["diagnose", str(data / SEATS), "-o", str(page), "--lang", "en"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert lines[0] == "✘ BOTTLENECK  All seats taken: 16 of 16 run, 6.8 s wait"
    assert lines[2].startswith("Do first: Raise --max-num-seqs")
    assert lines[3] == f"wrote {page}"


def test_a_store_that_cannot_be_written_is_refused_before_the_look(data: Path, capsys) -> None:
    assert run(["diagnose", str(data / SEATS), "--keep", "--store", "/dev/null/cases.sqlite"]) == 2
    shown = capsys.readouterr()
    assert "/dev/null/cases.sqlite" in shown.err
    assert shown.out == ""


def test_a_disk_that_fills_up_meanwhile_costs_the_case_and_not_the_answer(
    data: Path, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise NotWritable("the disk is full", "Free some space.")

    monkeypatch.setattr(diagnose, "keep_case", full)
    code, found = answer(capsys, str(data / SEATS), "--keep", "--store", str(tmp_path / "cases.sqlite"))
    assert (code, found["verdict"]) == (2, "bottleneck")

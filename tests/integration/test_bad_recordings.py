"""The tables "Files" of docs/bad-input.md, row by row, from the command line."""

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from whystall.cli import run

DOCS = Path(__file__).resolve().parents[2] / "docs" / "bad-input.md"
NAME = "seq_cap"  # the recording that is damaged
EXIT_CODES = {"healthy": 0, "bottleneck": 1, "unknown": 3}


def rows(head: str) -> dict[str, list[str]]:
    """The cells of a table of the docs, by its first column."""
    text = DOCS.read_text(encoding="utf-8").partition("## Files")[2].partition(head)[2]
    lines = re.match(r"(?:[^|]*\n)*?((?:\|.*\n)+)", text)
    assert lines is not None
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1].splitlines()[2:]]
    return {row[0]: row[1:] for row in cells}


REFUSED = rows("Refused:")
HANDLED = rows("Handled.")

PAGES: dict[str, str | bytes] = {
    "an HTML page, such as a login or the error of a proxy": "<!DOCTYPE html><html><body>502</body></html>",
    "an empty page": "",
    "a page with comments alone": "# HELP a b\n# TYPE a gauge\n",
    "a binary file": bytes(range(256)) * 10,
    "a page that is not UTF-8": b'a{b="caf\xe9"} 1\n',
    "JSON": '{"detail": "Not Found"}',
    "a profile or spans": '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": []}',
    "a server's log": "(APIServer pid=7) INFO 11-30 10:09:00 [api_server.py:286] vLLM API server version 0.26.0\n",
    "a report that whystall wrote": '{"schema": "whystall.diagnosis/1", "target": "x"}',
    "a SQLite database": b"SQLite format 3\0" + bytes(84),
    "a file packed with xz, zstd, bzip2 or zip": b"\x28\xb5\x2f\xfd" + bytes(20),
    "plain text": "not found\n",
    "a recording in which every scrape failed": "# scrape 1796000000 failed TimeoutError\n" * 2,
    "a recording that stops within its first page": '# scrape 1796000000\nvllm:num_requests_running{engine="0',
    "a page of another program": "".join(f"# scrape {1796000000 + k}\nnode_load1 {k}\n" for k in range(20)),
    "a page over 64 MB": b"x 1\n" * 17_000_000,
}


def refused(case: str, data: Path, folder: Path) -> Path:
    """The path of the case's input."""
    if case == "a path that is not there":
        return folder / "missing"
    if case == "a folder without `metrics.prom` or `metrics.prom.gz`":
        (folder / "notes.txt").write_text("x")
    elif case == "a pipe, as `<(curl …)` gives":
        os.mkfifo(folder / "pipe")
        return folder / "pipe"
    elif case == "a folder of recordings":
        shutil.copytree(data / "recordings" / NAME, folder / "incident-7")
    elif case == "one scrape only":
        text = pages(data)
        (folder / "metrics.prom").write_text(text[0])
    elif case in PAGES:
        text = PAGES[case]
        (folder / "metrics.prom").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def pages(data: Path) -> list[str]:
    """The scrapes of the recording, each with its marker."""
    text = gzip.decompress((data / "recordings" / NAME / "metrics.prom.gz").read_bytes()).decode()
    return ["# scrape " + part for part in text.split("# scrape ")[1:]]


def answer(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, dict]:
    capsys.readouterr()
    code = run(["diagnose", str(path), "--json"])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return code, json.loads(shown.out)


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code, error, message = REFUSED[case]
    code, shown = answer(capsys, refused(case, data, tmp_path))
    assert code == int(exit_code)
    if error:
        assert shown["schema"] == "whystall.error/1"
        assert message in shown["error"]
        assert shown["hint"]
        assert shown["exit_code"] == code
    else:
        assert shown["verdict"] == "unknown"


Change = Callable[[list[str]], list[str]]


def moved(scrapes: list[str], first: int, last: int, seconds: float) -> list[str]:
    """The scrapes with some of their times moved."""

    def move(number: int, text: str) -> str:
        line, _, page = text.partition("\n")
        shift = seconds if first <= number < last else 0.0
        return f"# scrape {float(line.split()[2]) + shift:.3f}\n{page}"

    return [move(number, text) for number, text in enumerate(scrapes)]


def replaced(number: int, change: Callable[[str], str]) -> Change:
    return lambda scrapes: [change(text) if k == number else text for k, text in enumerate(scrapes)]


def time_of(text: str) -> str:
    return text.partition("\n")[0].split()[2]


def one_value(text: str, value: str) -> str:
    return re.sub(r"(?m)^(vllm:generation_tokens_total\S*) .*$", rf"\1 {value}", text, count=1)


METRICS: dict[str, Change] = {
    "a last page that stops within a line": replaced(-1, str),
    "a page in between that is none, such as the 502 of a proxy": replaced(
        9, lambda text: f"# scrape {time_of(text)}\n<html>502</html>\n"
    ),
    "a `# scrape` line that says failed": replaced(9, lambda text: f"# scrape {time_of(text)} failed TimeoutError\n"),
    "a clock that steps back": lambda scrapes: moved(scrapes, 20, 10_000, -300.0),
    "one time far from its neighbours": lambda scrapes: moved(scrapes, 20, 21, 1e8),
    "two scrapes of the same time": replaced(9, lambda text: text + text),
    "a series twice on one page": replaced(
        9, lambda text: text + re.findall(r"(?m)^vllm:num_requests_running.*\n", text)[0]
    ),
    "NaN in a counter or histogram": replaced(9, lambda text: one_value(text, "NaN")),
    "a counter below zero": replaced(9, lambda text: one_value(text, "-5")),
    "a last page with only the first series of the page before": lambda scrapes: [
        *scrapes[:-1],
        "\n".join(scrapes[-1].splitlines()[:120]) + "\n",
    ],
    "the rest of a page before the first `# scrape` line, as rotation leaves it": lambda scrapes: [
        "\n".join(scrapes[0].splitlines()[-50:]) + "\n",
        *scrapes,
    ],
    "a comment or a byte-order mark before the first `# scrape` line": replaced(
        0, lambda text: f"\ufeff# by our own script\n{text}"
    ),
    "times in ms, µs, ns, or ISO 8601 with a zone": lambda scrapes: [
        text.replace(time_of(text), f"{float(time_of(text)) * 1000:.0f}", 1) for text in scrapes
    ],
    "Windows line ends": lambda scrapes: [text.replace("\n", "\r\n") for text in scrapes],
}


def damage(case: str, folder: Path, data: Path) -> None:
    """Does to a copy of the recording what the case says."""
    metrics, log = folder / "metrics.prom.gz", folder / "server.log.gz"
    packed = metrics.read_bytes()
    if "gzip file" in case:
        middle = len(packed) * 3 // 4
        metrics.write_bytes(packed[:middle] + (b"" if "stops" in case else b"\xff" * 64 + packed[middle + 64 :]))
    elif case in METRICS:
        text = "".join(METRICS[case](pages(data)))
        metrics.write_bytes(gzip.compress(text[: -200 if "within a line" in case else len(text)].encode()))
    elif case.startswith("a log"):
        metrics.write_bytes(gzip.compress(without_start(data, "without the server's start" in case).encode()))
        log.write_bytes(gzip.compress(changed_log(gzip.decompress(log.read_bytes()), "local time" in case)))
    else:
        for name in (
            ("gpu.jsonl", "requests.jsonl") if ".jsonl" in case else ("server_info.json", "version.json", "models.json")
        ):
            there = next(iter(folder.glob(name + "*")), folder / name)
            text = b"[" * 1_000_000 if "brackets" in case else b'{"t": 1, "gpu"\nnonsense\n[]\n<html>'
            there.unlink(missing_ok=True)
            (folder / name).write_bytes(text)


def without_start(data: Path, drop: bool) -> str:
    text = "".join(pages(data))
    return re.sub(r"(?m)^process_start_time_seconds .*\n", "", text) if drop else text


def changed_log(log: bytes, local: bool) -> bytes:
    """Not UTF-8, or five hours later on the clock of the wall."""
    if not local:
        return log.replace(b"version", b"versi\xf3n") + b"\xff\xfe\n"
    hours = {f"{hour:02d}".encode(): f"{(hour + 5) % 24:02d}".encode() for hour in range(24)}
    return re.sub(rb"(\d\d-\d\d )(\d\d)(:\d\d:\d\d)", lambda m: m[1] + hours[m[2]] + m[3], log)


@pytest.mark.parametrize("case", HANDLED)
def test_what_is_handled(case: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, verdict, warning = HANDLED[case]
    folder = tmp_path / "recording"
    shutil.copytree(data / "recordings" / NAME, folder)
    damage(case, folder, data)
    code, shown = answer(capsys, folder)
    assert f"`{shown['verdict']}`" == verdict
    assert code == EXIT_CODES[shown["verdict"]]
    assert shown["causes"][0]["id"] == "seat_cap"
    assert not warning or warning.strip("`") in [notice["id"] for notice in shown["warnings"]]


def test_a_page_of_50_mb_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = b'vllm:num_requests_running{engine="%06d",text="' + b"x" * 480 + b'"} 1\n'
    (tmp_path / "metrics.prom").write_bytes(b"".join(line % k for k in range(10)) + b"# " + b"y" * 50_000_000 + b"\n")
    code, shown = answer(capsys, tmp_path)
    assert (code, shown["verdict"]) == (3, "unknown")

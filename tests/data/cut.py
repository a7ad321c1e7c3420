"""Makes the small recordings that every clone carries from the shared ones.

::

    python tests/data/cut.py ../shared

writes ``tests/data/recordings/NAME`` and ``src/whystall/demo_data/NAME``. A cut recording has the first seconds of a
run and of each page the series that say something about the engine: help texts, Python's own metrics and creation
times make four fifths of a page and change nothing. The log keeps all of the start, where the configuration stands.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEMO_DATA = HERE.parents[1] / "src" / "whystall" / "demo_data"

# Which runs, and how many seconds of each: enough after the onset for an answer.
TEST_RUNS = {
    "cpu_healthy": 40,
    "cpu_kv_overflow": 60,
    "cpu_starved": 30,
    "healthy": 30,
    "idle_clients": 30,
    "launch_bound": 30,
    "prefix_collapse": 81,
    "seq_cap": 40,
}
DEMO_RUNS = {"kv_overflow": 50}
TRUTH_KEYS = ("verdict", "causes", "also", "either", "onset_s", "why", "metrics_only")

_DROPPED = re.compile(r"# HELP |(# TYPE )?python_|(# TYPE )?[a-z:_]+_created\b")
_STAMP = re.compile(r" (\d\d-\d\d \d\d:\d\d:\d\d) ")
_TIME_KEYS = ("t", "sent")


def cut(source: Path, target: Path, seconds: float) -> None:
    """Write the first ``seconds`` of the recording ``source`` to ``target``."""
    target.mkdir(parents=True, exist_ok=True)
    pages = list(_pages(_lines(source, "metrics.prom")))
    start = pages[0][0]
    kept = [line for t, lines in pages if t < start + seconds for line in lines]
    _write(target / "metrics.prom.gz", kept)
    for name in ("gpu.jsonl", "host.jsonl", "requests.jsonl"):
        rows = [line for line in _lines(source, name) if _end(json.loads(line)) < start + seconds]
        if rows:
            _write(target / f"{name}.gz", rows)
    _write(target / "server.log.gz", _log_until(_lines(source, "server.log"), start + seconds))
    for name in ("server_info.json", "version.json"):
        if (source / name).exists():
            (target / name).write_bytes((source / name).read_bytes())


def _lines(folder: Path, name: str) -> list[str]:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            body = path.read_bytes()
            text = gzip.decompress(body) if path.suffix == ".gz" else body
            return text.decode().splitlines(keepends=True)
    return []


def _pages(lines: Iterable[str]) -> Iterator[tuple[float, list[str]]]:
    page: list[str] = []
    for line in lines:
        if line.startswith("# scrape ") and page:
            yield float(page[0].split()[2]), page
            page = []
        if not _DROPPED.match(line):
            page.append(line)
    yield float(page[0].split()[2]), page


def _end(row: dict[str, float]) -> float:
    """When a row was known: a request when it had finished, a sample when it was taken."""
    return next(row[key] for key in _TIME_KEYS if key in row) + row.get("e2e", 0.0)


def _log_until(lines: list[str], end: float) -> list[str]:
    last = datetime.fromtimestamp(end, UTC).strftime("%m-%d %H:%M:%S")
    kept: list[str] = []
    for line in lines:
        stamp = _STAMP.search(line[:80])
        if stamp and stamp[1] > last:
            break
        kept.append(line)
    return kept


def _write(path: Path, lines: list[str]) -> None:
    # No name and no time in the header, so that the same input gives the same file.
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as file:
        file.write("".join(lines).encode())
    path.write_bytes(buffer.getvalue())


def main(shared: Path) -> None:
    """Make all of them, and the part of the answer sheet that speaks of them."""
    recordings = shared / "recordings"
    for runs, folder in ((TEST_RUNS, HERE / "recordings"), (DEMO_RUNS, DEMO_DATA)):
        for name, seconds in runs.items():
            cut(recordings / name, folder / name, seconds)
    truth = json.loads((recordings / "truth.json").read_text())
    sheet = {name: {key: truth[name][key] for key in TRUTH_KEYS if key in truth[name]} for name in TEST_RUNS}
    text = json.dumps(sheet, indent=1, ensure_ascii=False) + "\n"
    (HERE / "recordings" / "truth.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

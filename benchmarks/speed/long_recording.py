"""A long recording made of short ones: runs of one server set end to end, as if its process had never stopped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_MARK = "# scrape "
_COUNTERS = ("_total", "_bucket", "_sum", "_count")
_TIMES = {"gpu.jsonl": ("t",), "requests.jsonl": ("intended", "sent")}


class Scrape(NamedTuple):
    """One page as it stood in the file: its time, and its lines without the marker."""

    t: float
    lines: list[str]


def splice(runs: Sequence[Path], folder: Path) -> int:
    """Write the runs one after the other into ``folder``: pages, GPU samples and the client's rows; the pages' number.

    Counters go on from where the run before ended and a second lies between two runs. The log and the configuration are
    those of the last run.
    """
    pages = _Pages()
    rows: dict[str, list[str]] = {name: [] for name in _TIMES}
    with gzip.open(folder / "metrics.prom.gz", "wt", compresslevel=1) as file:
        for run in runs:
            shift = pages.begin(next(_scrapes(run)))
            for scrape in _scrapes(run):
                file.write(pages.next(scrape))
            for name, times in _TIMES.items():
                rows[name] += _shifted(run, name, times, shift)
    for name, lines in rows.items():
        (folder / name).write_text("".join(lines))
    for name in ("server.log.gz", "server_info.json", "version.json"):
        (folder / name).write_bytes((runs[-1] / name).read_bytes())
    return pages.written


class _Pages:
    """Pages on one clock, with counters that never fall."""

    def __init__(self) -> None:
        self.written = 0
        self._clock = 0.0
        self._shift = 0.0
        self._last: dict[str, float] = {}
        self._added: dict[str, float] = {}
        self._started = ""

    def begin(self, first: Scrape) -> float:
        """Set the offsets for a run that begins with this page; gives the seconds that its times are moved by."""
        self._shift = self._clock + 1 - first.t if self.written else 0.0
        samples = dict(_sample(line) for line in first.lines if _counts(line))
        self._added = {key: self._last.get(key, value) - value for key, value in samples.items()}
        return self._shift

    def next(self, scrape: Scrape) -> str:
        self._clock = scrape.t + self._shift
        self.written += 1
        return f"{_MARK}{self._clock:.3f}\n" + "".join(map(self._line, scrape.lines))

    def _line(self, line: str) -> str:
        if line.startswith("process_start_time_seconds"):
            self._started = self._started or line
            return self._started
        if not _counts(line):
            return line
        key, value = _sample(line)
        self._last[key] = value + self._added.get(key, 0.0)
        return f"{key} {self._last[key]}\n"


def _scrapes(run: Path) -> Iterator[Scrape]:
    page: Scrape | None = None
    with gzip.open(run / "metrics.prom.gz", "rt") as file:
        for line in file:
            if not line.startswith(_MARK):
                if page is not None:
                    page.lines.append(line)
                continue
            if page is not None:
                yield page
            words = line.split()
            page = Scrape(float(words[2]), []) if len(words) == 3 else None  # a failed scrape has no page
    if page is not None:
        yield page


def _counts(line: str) -> bool:
    return line[0] != "#" and line.split("{")[0].split(" ")[0].endswith(_COUNTERS)


def _sample(line: str) -> tuple[str, float]:
    key, _, value = line.rpartition(" ")
    return key, float(value)


def _shifted(run: Path, name: str, times: tuple[str, ...], seconds: float) -> Iterator[str]:
    plain, packed = run / name, run / f"{name}.gz"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.is_file() else plain.read_text()
    for row in map(json.loads, text.splitlines()):
        yield json.dumps(row | {time: row[time] + seconds for time in times}) + "\n"

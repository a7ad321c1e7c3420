"""A week of 100 engines out of a real Prometheus, as ``diagnose prometheus+http://… --for 7d`` reads it, and raw samples.

Three figures are measured side by side:

- ``raw``: two hours of some engines, every sample of every series: the rate at which samples come.
- ``survey``: a week of 100 engines at a scrape in 15 s by the two passes: a few curves of each engine, then the raw samples
  of its worst half hour (or its last minutes). The series that the second pass does not touch are not back-filled, since
  nobody reads them: 1.7 thousand million samples would be 2 TB of text.
- ``rules``: the same with the recorded figures of ``whystall export alerts``.

Prometheus' own CPU is counted too. Appends one JSON line to ``benchmarks/results/scale.jsonl``.

    python benchmarks/speed/prometheus_week.py [--engines 100] [--days 7] [--raw-engines 4] [--raw-hours 2]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from watch_scale import ROOT, pages

from whystall.model.recording import Recording
from whystall.sources.live.access import Access
from whystall.sources.prometheus.question import parse_question
from whystall.sources.prometheus.reader import read_prometheus
from whystall.sources.prometheus.survey import BEFORE_S, RECENT_S, RECORDED

STEP_S, RULE_S, BLOCK_S = 15.0, 60.0, 7200.0
LOSING = 10  # engines of the fleet that lose something for 20 minutes, each on another day
LOST_S = 1200.0
STALLED_S = 4.0  # of as many more engines, once: eight requests under way, eight that wait
STALLED = 8
_SAMPLE = re.compile(rb"^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
_CURVES = {
    "time_to_first_token_seconds": "2.5",
    "inter_token_latency_seconds": "0.5",
}  # with the bound that is asked for
Series = dict[tuple[str, str], list[str]]


def page_series(hours: float) -> Series:
    """Each series of an emulated engine with its values, one a scrape."""
    table: Series = {}
    for body in pages(hours * 60, STEP_S):
        for found in filter(None, map(_SAMPLE.match, body.splitlines())):
            table.setdefault((found[1].decode(), (found[2] or b"").decode()), []).append(found[3].decode())
    return table


def named(name: str, labels: str, engine: int, job: str) -> str:
    inside = ",".join(filter(None, (labels, f'job="{job}",instance="e{engine}:8000"')))
    return f"{name}{{{inside}}}"


def back_fill(folder: Path, lines: Iterator[list[str]]) -> None:
    """Write one slice of OpenMetrics text (sorted by series) as blocks of the data folder."""
    text = folder / "in.om"
    with text.open("w", encoding="utf-8") as file:
        for some in lines:
            file.write("\n".join(some) + "\n")
        file.write("# EOF\n")
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "data")]
    subprocess.run(command, check=True, capture_output=True)
    text.unlink()


def raw_lines(table: Series, engines: int, end: float) -> Iterator[list[str]]:
    for (name, labels), values in sorted(table.items()):
        first = end - len(values) * STEP_S
        for engine in range(engines):
            key = named(name, labels, engine, "raw")
            yield [f"{key} {value} {first + n * STEP_S:.0f}" for n, value in enumerate(values)]


def _part(name: str) -> str:
    return name.rpartition("_")[2]


class Fleet:
    """A week of engines: sums and counts over all of it, every series where the second pass will look."""

    def __init__(self, table: Series, engines: int, begin: float, end: float) -> None:
        self.table, self.engines, self.begin, self.end = table, engines, begin, end
        span = (end - begin) / (LOSING + 1)
        moments = [begin + (n + 1) * span // BLOCK_S * BLOCK_S + 1800 for n in range(LOSING)]
        self.losing = dict(enumerate(moments))
        self.stalled = dict(enumerate(moments, LOSING))
        self.bad = self.losing | self.stalled

    def slice(self, start: float, job: str) -> Iterator[list[str]]:
        """One block's samples of all engines."""
        times = np.arange(start, min(start + BLOCK_S, self.end), STEP_S)
        for name in (f"vllm:{one}_{part}" for one in _CURVES for part in ("bucket", "count", "sum")):
            for engine in range(self.engines):
                values = self._curve(name, engine, times)
                yield self._lines(named(name, self._labels(name), engine, job), times, values)
        for engine in range(self.engines):
            yield self._lines(named("up", "", engine, job), times, np.ones(len(times)))
        yield from self._whole(start, times, job)

    def _lines(self, key: str, times: Any, values: Any) -> list[str]:
        return [f"{key} {v:.12g} {t:.0f}" for t, v in zip(times.tolist(), values.tolist(), strict=True)]

    def _labels(self, name: str) -> str:
        bounds = [bound for one, bound in _CURVES.items() if name == f"vllm:{one}_bucket"]
        return 'engine="0",' + "".join(f'le="{bound}",' for bound in bounds) + 'model_name="m"'

    def _curve(self, name: str, engine: int, times: Any) -> Any:
        """Two requests and 200 tokens a second; while an engine loses, 4 s to the first token."""
        since = times - self.begin
        lost = np.clip(times - self.losing[engine], 0.0, LOST_S) if engine in self.losing else 0.0 * times
        stalled = (times > self.stalled[engine]).astype(float) if engine in self.stalled else 0.0 * times
        if "inter_token" in name:
            over = STALLED * stalled
            return {"sum": 2 * since + STALLED_S * over, "count": 200 * since, "bucket": 200 * since - over}[
                _part(name)
            ]
        sums = 2 * (0.05 * since + 4.0 * lost) + STALLED * STALLED_S / 2 * stalled
        return {"sum": sums, "count": 2 * since, "bucket": 2 * (since - lost) - 3 * stalled}[_part(name)]

    def _is_curve(self, name: str, labels: str) -> bool:
        of = [one for one in _CURVES if name.startswith(f"vllm:{one}_")]
        return bool(of) and ("_bucket" not in name or f'le="{_CURVES[of[0]]}"' in labels)

    def _whole(self, start: float, times: Any, job: str) -> Iterator[list[str]]:
        """The other series, where an engine is read in full."""
        for (name, labels), values in sorted(self.table.items()):
            if name == "up" or self._is_curve(name, labels):
                continue
            for engine in range(self.engines):
                at = self.bad.get(engine, self.end)
                inside = times[(times > at - max(BEFORE_S, RECENT_S) - 600) & (times < at + 2 * LOST_S)]
                if len(inside):
                    places = (np.arange(len(inside)) + round((inside[0] - start) / STEP_S)) % len(values)
                    key = named(name, labels, engine, job)
                    yield [f"{key} {values[p]} {t:.0f}" for p, t in zip(places.tolist(), inside.tolist(), strict=True)]

    def rules(self, start: float, job: str) -> Iterator[list[str]]:
        """What recording rules would have made of it."""
        times = np.arange(start, min(start + BLOCK_S, self.end), RULE_S)
        for id, record in sorted(RECORDED.items(), key=lambda pair: pair[1]):
            for engine in range(self.engines):
                at = self.losing.get(engine, -1e9)
                ttft = np.where((times > at) & (times < at + LOST_S), 4.05, 0.05)
                values = {"ttft": ttft, "requests": 2.0, "itl": 0.01, "tokens": 200.0}[id] + 0 * times
                yield self._lines(named(record, 'engine="0",model_name="m"', engine, job), times, values)


@contextmanager
def prometheus(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    (folder / "p.yml").write_text("global: {}\n", encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["prometheus", f"--config.file={folder / 'p.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=60d"]
    command += [f"--storage.tsdb.{bound}-block-duration=2h" for bound in ("min", "max")]  # no compaction meanwhile
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ready(f"http://127.0.0.1:{port}")
        yield f"prometheus+http://127.0.0.1:{port}", psutil.Process(server.pid)
    finally:
        server.terminate()
        server.wait()


def ready(url: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("Prometheus did not get ready")


def read(
    url: str, job: str, end: float, seconds: float, server: psutil.Process
) -> tuple[dict[str, Recording], dict[str, float]]:
    """The recordings, and what they cost: wall time, our CPU, Prometheus' CPU."""
    question = parse_question(f"{url}?job={job}&end={end:.0f}")
    before = server.cpu_times()
    wall, cpu = time.perf_counter(), time.process_time()
    found = asyncio.run(read_prometheus(question, seconds, Access(timeout_s=300), "p"))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = server.cpu_times()
    theirs = after.user + after.system - before.user - before.system
    return found, {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2), "prometheus_cpu_s": round(theirs, 2)}


def samples(found: dict[str, Recording]) -> int:
    return sum(int(np.isfinite(one.metrics.values).sum()) for one in found.values())


def measured(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    end = float(int(time.time()) // 7200 * 7200)  # the blocks of a Prometheus begin at even hours
    table = page_series(asked.raw_hours)
    fleet = Fleet(table, asked.engines, end - asked.days * 86_400, end)
    starts = np.arange(fleet.begin, end, BLOCK_S).tolist()
    for start in starts:
        last = raw_lines(table, asked.raw_engines, end) if start == starts[-1] else iter(())
        back_fill(folder, chain(last, fleet.slice(start, "week")))
    with prometheus(folder) as (url, server):
        raw, raw_cost = read(url, "raw", end, asked.raw_hours * 3600, server)
        week, week_cost = read(url, "week", end, asked.days * 86_400, server)
    for start in starts:
        back_fill(folder, fleet.rules(start, "week"))
    with prometheus(folder) as (url, server):
        ruled, ruled_cost = read(url, "week", end, asked.days * 86_400, server)
    assert all("recorded figures" in one.warnings[0].text.en for n, one in ruled.items() if losing(fleet, n))
    whole = len(table) * asked.engines * asked.days * 86_400 / STEP_S
    rate = samples(raw) / raw_cost["cpu_s"]
    return {
        "engines": len(week),
        "days": asked.days,
        "series_an_engine": len(table),
        "raw": {"samples": samples(raw), **raw_cost, "samples_per_cpu_s": round(rate)},
        "survey": {"samples": samples(week), "found": right(fleet, week), **week_cost},
        "rules": {"samples": samples(ruled), "found": right(fleet, ruled), **ruled_cost},
        "all_samples": round(whole),
        "all_samples_cpu_s": round(whole / rate),
    }


def losing(fleet: Fleet, name: str) -> bool:
    return int(name[1:].partition(":")[0]) in fleet.bad


def right(fleet: Fleet, found: dict[str, Recording]) -> str:
    """How many engines were read at the right time: those that lost something then, the others in the end."""
    good = 0
    for name, one in found.items():
        at = fleet.bad.get(int(name[1:].partition(":")[0]), fleet.end - RECENT_S)
        good += one.metrics.times[0] <= at + 2 * RULE_S and one.metrics.times[-1] >= at + 600
    return f"{good} of {fleet.engines}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engines", type=int, default=100)
    parser.add_argument("--days", type=float, default=7.0)
    parser.add_argument("--raw-engines", type=int, default=4)
    parser.add_argument("--raw-hours", type=float, default=2.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {"time": int(time.time()), **measured(asked, Path(folder))}
    for name, value in found.items():
        print(f"{name:20} {value}")
    with (ROOT / "benchmarks/results/scale.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

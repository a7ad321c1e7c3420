"""How fast engines' samples come out of a real Prometheus, and what a week of 100 engines would take.

Two hours of some engines at a scrape in 15 s are back-filled into a real Prometheus, and read as `diagnose
prometheus+http://…` reads them. Samples a second are what counts; the week of 100 engines is that rate multiplied, which
docs/scale.md says. Appends one JSON line to ``benchmarks/results/scale.jsonl``.

    python benchmarks/speed/prometheus_week.py [--engines 8] [--hours 2]
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
from pathlib import Path
from typing import Any

import numpy as np
from watch_scale import ROOT, pages

from whystall.sources.live.access import Access
from whystall.sources.prometheus.question import parse_question
from whystall.sources.prometheus.reader import read_prometheus

STEP_S, WEEK_S, ENGINES = 15.0, 7 * 86_400.0, 100
_SAMPLE = re.compile(rb"^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")


def openmetrics(engines: int, hours: float, end: float) -> str:
    """Every engine's series, each with all of its samples."""
    bodies = pages(hours * 60, STEP_S)
    table: dict[tuple[str, str], list[str]] = {}
    for number, body in enumerate(bodies):
        t = end - (len(bodies) - number) * STEP_S
        for found in filter(None, map(_SAMPLE.match, body.splitlines())):
            key = (found[1].decode(), (found[2] or b"").decode())
            table.setdefault(key, []).append(f"{found[3].decode()} {t:.0f}")
    lines = []
    for (name, labels), samples in sorted(table.items()):
        for engine in range(engines):
            inside = ",".join(filter(None, (labels, f'job="v",instance="e{engine}:8000"')))
            lines += [f"{name}{{{inside}}} {sample}" for sample in samples]
    return "\n".join((*lines, "# EOF", ""))


def ready(url: str) -> None:
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("Prometheus did not get ready")


def measured(engines: int, hours: float, folder: Path) -> dict[str, Any]:
    end = float(int(time.time()) // 7200 * 7200)  # the blocks of a Prometheus begin at even hours
    (folder / "in.om").write_text(openmetrics(engines, hours, end), encoding="utf-8")
    back_fill = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "in.om", "data"]
    subprocess.run(back_fill, cwd=folder, check=True, capture_output=True)
    (folder / "p.yml").write_text("global: {}\n", encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["prometheus", f"--config.file={folder / 'p.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=30d"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ready(f"http://127.0.0.1:{port}")
        question = parse_question(f"prometheus+http://127.0.0.1:{port}?job=v&end={end:.0f}")
        wall, cpu = time.perf_counter(), time.process_time()
        found = asyncio.run(read_prometheus(question, hours * 3600, Access(timeout_s=120), "p"))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    finally:
        server.terminate()
        server.wait()
    samples = sum(int(np.isfinite(one.metrics.values).sum()) for one in found.values())
    series = sum(len(one.metrics.keys) for one in found.values()) / len(found)
    week = series * ENGINES * WEEK_S / STEP_S
    return {
        "engines": len(found),
        "hours": hours,
        "series_an_engine": round(series),
        "samples": samples,
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "samples_per_cpu_s": round(samples / cpu),
        "week_of_100_engines_samples": round(week),
        "week_of_100_engines_cpu_s": round(week / (samples / cpu)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engines", type=int, default=8)
    parser.add_argument("--hours", type=float, default=2.0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {"time": int(time.time()), **measured(asked.engines, asked.hours, Path(folder))}
    for name, value in found.items():
        print(f"{name:28} {value}")
    with (ROOT / "benchmarks/results/scale.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

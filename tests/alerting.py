"""Emulated runs and recordings as the input of ``promtool test rules``: what fires on them."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import yaml

from whystall.emulator.server.dcgm_page import dcgm_page
from whystall.emulator.server.deployment import Deployment
from whystall.emulator.server.faults import FAULTS, Planned, inject, prepared
from whystall.emulator.server.faults.scene import healthy_serving

START = 1_790_000_000.0
STEP_S = 15
WHERE = 'job="vllm",instance="emulated:8000"'
SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")
Series = dict[str, list[str]]


def faulty_pages(fault: str, minutes: float, at: float, severity: float = 1.0, dcgm: bool = False) -> list[str | None]:
    """The pages of a healthy server whose fault comes after ``at`` minutes; None where it did not answer.

    ``dcgm``: with the DCGM exporter's series behind them, which answers whatever becomes of the server.
    """
    planned = [] if fault == "healthy" else [Planned(FAULTS[fault], at * 60, severity)]
    deployment = Deployment(prepared(healthy_serving(fault), planned), start=START)
    for plan in planned:
        inject(deployment, plan)
    pages: list[str | None] = []
    for number in range(int(minutes * 60 / STEP_S)):
        deployment.advance(START + number * STEP_S)
        serves = deployment.alive and deployment.now >= deployment.ready_at
        page = deployment.page() if serves else None
        pages.append((page or "") + dcgm_page(deployment, deployment.now) if dcgm else page)
    return pages


def recorded_pages(folder: Path) -> list[str | None]:
    """The pages of a recording, a second apart. Played a page each ``STEP_S`` its gauges, means and shares stay as they
    are and only its rates are lower, so that a recording of minutes is long enough for an alert."""
    file = next(folder.glob("metrics.prom*"))
    text = gzip.decompress(file.read_bytes()).decode() if file.suffix == ".gz" else file.read_text("utf-8")
    return list(re.split(r"^# scrape .*\n", text, flags=re.MULTILINE)[1:])


def series_of(pages: list[str | None], wanted: str) -> Series:
    """Each series whose name stands in ``wanted`` (the rules' text) with a value a page; ``_`` where it had none."""
    table: Series = {}
    for number, page in enumerate(pages):
        for name, labels, value in samples(page or ""):
            if name in wanted:
                key = f"{name}{{{','.join(filter(None, (labels, WHERE)))}}}"
                table.setdefault(key, ["_"] * number).append(value)
        for values in table.values():
            values += ["_"] * (number + 1 - len(values))
    table[f"up{{{WHERE}}}"] = ["0" if page is None else "1" for page in pages]
    return table


def samples(page: str) -> Iterable[tuple[str, str, str]]:
    for line in page.splitlines():
        found = SAMPLE.match(line)
        if found:
            yield found[1], found[2] or "", found[3]


def firing(folder: Path, rules: str, series: Series, step_s: int = STEP_S) -> set[str]:
    """The names of the alerts that fire at the end, of the real promtool."""
    (folder / "rules.yml").write_text(rules, encoding="utf-8")
    count = max(len(values) for values in series.values())
    asked = {"expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": f"{(count - 1) * step_s}s"}
    # What is expected is wrong on purpose: promtool then says what it got.
    wrong = asked | {"exp_samples": [{"labels": '{alertname="none"}', "value": 0}]}
    test = {
        "interval": f"{step_s}s",
        "input_series": [{"series": key, "values": " ".join(values)} for key, values in series.items()],
        "promql_expr_test": [wrong],
    }
    document = {"rule_files": ["rules.yml"], "evaluation_interval": f"{step_s}s", "tests": [test]}
    (folder / "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    promtool = shutil.which("promtool")
    assert promtool
    done = subprocess.run(
        [promtool, "test", "rules", "test.yml"], cwd=folder, capture_output=True, text=True, check=False
    )
    told = done.stderr + done.stdout
    assert "got:" in told, told
    return set(re.findall(r'alertname=\\?"(\w+)', told.split("got:")[1]))

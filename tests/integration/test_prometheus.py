"""A real Prometheus that scrapes two emulated servers, asked by the command."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from alerting import samples
from integration_processes import process, until
from watched_pages import START, Emulated

pytestmark = [
    pytest.mark.prometheus,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="no prometheus on this machine"),
]
CONFIG = """
global: {scrape_interval: 1s}
scrape_configs:
- job_name: vllm
  static_configs: [{targets: [%s]}]
"""


def diagnosed(target: str) -> dict:
    command = [sys.executable, "-m", "whystall", "diagnose", target, "--for", "40s", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, check=False, text=True).stdout)


async def test_the_incident_of_one_of_two_servers(tmp_path: Path, free_port: Callable[[], int]) -> None:
    calm, ill, port = free_port(), free_port(), free_port()
    (tmp_path / "p.yml").write_text(CONFIG % f"'127.0.0.1:{calm}', '127.0.0.1:{ill}'")
    emulate = [sys.executable, "-m", "whystall", "emulate", "--rate", "6", "--port"]
    prometheus = ["prometheus", f"--config.file={tmp_path / 'p.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    with ExitStack() as all_:
        all_.enter_context(process(*emulate, str(calm)))
        all_.enter_context(process(*emulate, str(ill), "--fault", "seat_cap@1"))
        all_.enter_context(process(*prometheus, f"--web.listen-address=127.0.0.1:{port}"))
        waited = "count_over_time(vllm:num_requests_running[60s])>=42"
        url = f"http://127.0.0.1:{port}/api/v1/query?query={waited}"
        await until(url, lambda told: len(told["data"]["result"]) == 2)
        both = await asyncio.to_thread(diagnosed, f"prometheus+http://127.0.0.1:{port}?job=vllm")
        one = await asyncio.to_thread(diagnosed, f"prometheus+http://127.0.0.1:{port}?instance=127.0.0.1:{calm}")
    assert both["verdict"] == "bottleneck"
    assert both["causes"][0]["id"] == "seat_cap"
    assert both["engine"]["id"].startswith(f"127.0.0.1:{ill}")
    assert {engine["verdict"] for engine in both["engines"]} == {"healthy", "bottleneck"}
    assert one["verdict"] == "healthy"


HOURS, ILL_AT, ILL_UNTIL = 2.25, 4200.0, 5100.0


def hours_of(instance: str, fault: str, end: float) -> list[str]:
    """Samples of an emulated server at a scrape in 15 s, as OpenMetrics; ill for a quarter of an hour in between."""
    emulated = Emulated(fault, ILL_AT, ILL_UNTIL)
    table: dict[str, list[str]] = {}
    where = f'job="v",instance="{instance}"'
    for number in range(int(HOURS * 3600 / 15)):
        emulated.deployment.advance(START + number * 15)
        for name, labels, value in samples(emulated.deployment.page()):
            key = f"{name}{{{','.join(filter(None, (labels, where)))}}}"
            table.setdefault(key, []).append(f"{key} {value} {end - HOURS * 3600 + number * 15:.0f}")
    return [line for lines in table.values() for line in lines]


@pytest.mark.slow
async def test_of_hours_the_quarter_that_was_ill_is_found(tmp_path: Path, free_port: Callable[[], int]) -> None:
    end, port = float(int(time.time()) // 7200 * 7200), free_port()
    lines = [*hours_of("calm:8000", "", end), *hours_of("ill:8000", "kv_capacity", end), "# EOF", ""]
    (tmp_path / "in.om").write_text("\n".join(lines), encoding="utf-8")
    back_fill = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "in.om", "data"]
    subprocess.run(back_fill, cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "p.yml").write_text("global: {}\n")
    prometheus = ["prometheus", f"--config.file={tmp_path / 'p.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    with process(*prometheus, f"--web.listen-address=127.0.0.1:{port}"):
        asked = f"http://127.0.0.1:{port}/api/v1/query?query=count(vllm:num_requests_running)&time={end - 60:.0f}"
        await until(asked, lambda told: len(told["data"]["result"]) == 1)
        target = f"prometheus+http://127.0.0.1:{port}?job=v&end={end:.0f}"
        command = [sys.executable, "-m", "whystall", "diagnose", target, "--for", f"{HOURS:g}h", "--json"]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False, text=True)
    told = json.loads(done.stdout)
    assert done.returncode == 1, told
    assert told["causes"][0]["id"] == "kv_capacity"
    assert told["engine"]["id"].startswith("ill:8000")
    assert {engine["verdict"] for engine in told["engines"]} == {"healthy", "bottleneck"}
    ill = end - HOURS * 3600 + ILL_AT
    assert told["window"]["start"] + told["causes"][0]["onset"]["seconds"] == pytest.approx(ill, abs=60)
    assert any("were read in full" in notice["text"] for notice in told["warnings"])


@pytest.mark.skipif(shutil.which("victoria-metrics") is None, reason="no victoria-metrics on this machine")
async def test_the_same_through_victoria_metrics(tmp_path: Path, free_port: Callable[[], int]) -> None:
    ill, port = free_port(), free_port()
    (tmp_path / "p.yml").write_text(CONFIG % f"'127.0.0.1:{ill}'")
    emulate = [sys.executable, "-m", "whystall", "emulate", "--rate", "6", "--port", str(ill), "--fault", "seat_cap@1"]
    victoria = ["victoria-metrics", f"-storageDataPath={tmp_path / 'data'}", f"-httpListenAddr=127.0.0.1:{port}"]
    victoria += [f"-promscrape.config={tmp_path / 'p.yml'}", "-retentionPeriod=1", "-search.latencyOffset=0s"]
    with ExitStack() as all_:
        all_.enter_context(process(*emulate))
        all_.enter_context(process(*victoria, "-memory.allowedBytes=256MB"))
        waited = "count_over_time(vllm:num_requests_running[60s])>=42"
        url = f"http://127.0.0.1:{port}/api/v1/query?query={waited}"
        await until(url, lambda told: len(told["data"]["result"]) == 1)
        found = await asyncio.to_thread(diagnosed, f"prometheus+http://127.0.0.1:{port}?job=vllm")
    assert found["verdict"] == "bottleneck"
    assert found["causes"][0]["id"] == "seat_cap"

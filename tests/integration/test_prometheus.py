"""A real Prometheus that scrapes two emulated servers, asked by the command."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from integration_processes import process, until

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

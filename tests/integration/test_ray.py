"""A real Ray with token authentication, on whose metrics page a server with an incident reports."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

pytestmark = pytest.mark.ray
pytest.importorskip("ray", reason="no Ray on this machine")
TOKEN = "a-token-for-this-test-alone-0123456789"
MIRROR = Path(__file__).resolve().parent.parent / "ray_mirror.py"
SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": TOKEN,
    "RAY_metrics_report_interval_ms": "1000",
}


@contextmanager
def session(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own; what it started ends with it, and nothing else does."""
    running = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | SETTINGS,
        start_new_session=True,
    )
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(timeout=20)
        finally:
            with_signal(running.pid, signal.SIGKILL)


def with_signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


async def until(url: str, right: Callable[[str], bool], token: str = "", seconds: float = 150) -> None:
    end = time.monotonic() + seconds
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with aiohttp.ClientSession(headers=headers) as client:
        while time.monotonic() < end:
            try:
                async with client.get(url) as answer:
                    if answer.status == 200 and right(await answer.text()):
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.3)
    raise AssertionError(f"{url} never gave what was waited for")


def whystall(*arguments: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"WHYSTALL_TOKEN": token}
    command = [sys.executable, "-m", "whystall", *arguments]
    return subprocess.run(command, capture_output=True, check=False, text=True, env=environment)


def first_line(*arguments: str) -> dict[str, Any]:
    """The incident that the verb tells of first; it is ended then."""
    environment = os.environ | {"WHYSTALL_TOKEN": TOKEN}
    command = [sys.executable, "-m", "whystall", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment) as running:
        assert running.stdout is not None
        told = running.stdout.readline()
        running.terminate()
    return dict(json.loads(told)["incident"])


async def test_an_incident_through_rays_own_page(free_port: Callable[[], int]) -> None:
    emulated, dashboard, gcs, metrics = (free_port() for _ in range(4))
    ray = Path(sys.executable).parent / "ray"
    with ExitStack() as all_:
        # Ray's sockets lie under its folder, and their paths may have 107 characters.
        folder = all_.enter_context(tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True))
        start = [str(ray), "start", "--head", "--block", "--num-cpus=2", "--disable-usage-stats"]
        start += ["--object-store-memory=100000000", "--memory=1000000000", "--dashboard-host=127.0.0.1"]
        start += [f"--dashboard-port={dashboard}", f"--metrics-export-port={metrics}", f"--port={gcs}"]
        start += ["--node-ip-address=127.0.0.1", f"--temp-dir={folder}"]
        emulate = [sys.executable, "-m", "whystall", "emulate", "--port", str(emulated), "--rate", "6"]
        all_.enter_context(session(*emulate, "--fault", "seat_cap@1"))
        all_.enter_context(session(*start))
        base = f"http://127.0.0.1:{dashboard}"
        await until(f"{base}/api/version", lambda text: "ray_version" in text, TOKEN)
        url = f"http://127.0.0.1:{emulated}/metrics"
        all_.enter_context(session(sys.executable, str(MIRROR), f"127.0.0.1:{gcs}", url, "LLM#abc"))
        await until(f"http://127.0.0.1:{metrics}/metrics", lambda text: "ray_vllm_num_requests_waiting{" in text)
        target = f"ray+{base}"
        found = await asyncio.to_thread(whystall, "diagnose", target, "--for", "30s", "--json")
        wrong = await asyncio.to_thread(whystall, "diagnose", target, "--for", "5s", "--json", token="wrong" * 8)
        checked = await asyncio.to_thread(whystall, "watch", target, "--check", "--json")
        watch = ["watch", target, "--for", "4m", "--json", "--listen", "off", "--store", f"{folder}/watch.sqlite"]
        opened = await asyncio.to_thread(first_line, *watch)
        trace = await asyncio.to_thread(whystall, "trace", target, "--json")
    told = json.loads(found.stdout)
    assert found.returncode == 1, told
    assert told["causes"][0]["id"] == "seat_cap"
    assert told["target"] == f"{target} LLM#abc"
    assert any(notice["id"] == "ray_cluster" for notice in told["warnings"])
    assert "host" in told["coverage"]["signals"]
    assert wrong.returncode == 3
    assert "wants a token" in json.loads(wrong.stdout)["error"]
    assert opened["engine_id"].endswith("~LLM-abc")
    assert opened["causes"][0] == "seat_cap"
    (reached, *_) = json.loads(checked.stdout)["reachable"]
    assert (reached["state"], reached["text"]) == ("ok", "1 engine: LLM#abc")
    (file,) = json.loads(trace.stdout)["files"]
    assert file["format"] == "ray_tasks"
    assert "Replica.show" in {row["function"] for row in file["tasks"]["functions"]}

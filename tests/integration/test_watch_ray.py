"""An incident in the emulator through a real Ray's metrics page, the daemon and a real Alertmanager, from begin to end."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from emulated import emulator
from integration_processes import process
from whystall.model.incident import Happening
from whystall.service.daemon import Plan, watch
from whystall.service.log import Log
from whystall.service.settings import NoticeSettings, WatchSettings
from whystall.service.target import WatchTarget
from whystall.sources.live.access import Access

from .test_ray import MIRROR, TOKEN, session, until
from .test_watch_alerts import HOW, ROUTES, named
from .test_watch_alerts import until as alerted

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(shutil.which("prometheus-alertmanager") is None, reason="no alertmanager on this machine"),
]


async def test_from_rays_page_to_alertmanager_and_back(tmp_path: Path, free_port: Callable[[], int]) -> None:
    alertmanager, dashboard, gcs, metrics = (free_port() for _ in range(4))
    happened: asyncio.Queue[Happening] = asyncio.Queue()
    (tmp_path / "am.yml").write_text(ROUTES)
    with ExitStack() as stack:
        # Ray's sockets lie under its folder, and their paths may have 107 characters.
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True))
        start = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", "--num-cpus=2"]
        start += ["--disable-usage-stats", "--object-store-memory=100000000", "--memory=1000000000"]
        start += ["--dashboard-host=127.0.0.1", f"--dashboard-port={dashboard}", f"--metrics-export-port={metrics}"]
        stack.enter_context(session(*start, f"--port={gcs}", "--node-ip-address=127.0.0.1", f"--temp-dir={folder}"))
        arguments = [f"--config.file={tmp_path / 'am.yml'}", f"--storage.path={tmp_path / 'am'}"]
        arguments += [f"--web.listen-address=127.0.0.1:{alertmanager}", "--cluster.listen-address="]
        stack.enter_context(process("prometheus-alertmanager", *arguments))
        base = f"http://127.0.0.1:{dashboard}"
        await until(f"{base}/api/version", lambda text: "ray_version" in text, TOKEN)
        async with emulator(rate=10.0, plan={}, faults=("kv_capacity@100",)) as (url, deployment):
            calm = deployment.serving.traffic
            stack.enter_context(session(sys.executable, str(MIRROR), f"127.0.0.1:{gcs}", f"{url}/metrics", "LLM#abc"))
            await until(f"http://127.0.0.1:{metrics}/metrics", lambda text: "ray_vllm_num_requests_running{" in text)
            notice = NoticeSettings("alertmanager", url=f"http://127.0.0.1:{alertmanager}")
            target = WatchTarget("ray", f"ray+{base}", Access(token=TOKEN))
            plan = Plan((target,), HOW, host="", store=tmp_path / "w.sqlite", settings=WatchSettings(notices=(notice,)))
            task = asyncio.create_task(watch(plan, Log(write=lambda _: None), [happened.put_nowait]))
            (alert,) = await asyncio.wait_for(alerted(alertmanager, named), 300)
            assert alert["labels"]["severity"] == "critical"
            assert "LLM#abc" in str(alert["labels"]["target"])
            deployment.at(deployment.now, lambda d, _t: setattr(d.traffic, "plan", calm))
            await asyncio.wait_for(alerted(alertmanager, lambda found: not found), 300)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    last = None
    while not happened.empty():
        last = happened.get_nowait()
    assert last is not None
    assert last.what == "recovered"
